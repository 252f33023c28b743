//! Who is sent to which expert, as study text.
//!
//! A token's first expert is that of its greatest gate. Of a group, `place1` counts those before it
//! that chose the same expert; it `fits1` while that is below the capacity. Second experts, where
//! there are any, queue behind all first ones.
//!
//! ```text
//! gates = softmax(choice)      first[batch length expert_unsplit] = 1 at the greatest
//! place1 = tokens before it with the same first expert      fits1 = first where place1 < capacity
//! combine[… expert_unsplit capacity] = gate1 · fits1 · one_hot(place1)
//! ```

use super::experts::{Experts, Second};
use super::text::{Text, number};

impl Experts {
    /// `combine`: how much of which place of which expert each token gets; tokens of a group lie
    /// along `member`, all of them along the dimensions `place`.
    pub(super) fn gate(self, text: &mut Text, member: &str, place: &str) {
        self.queue(text, member, place);
        self.losses(text, member);
        let term =
            |gate: &str, n: u8| format!("{gate} * fits{n} * one_hot(place{n}, dim:capacity)");
        text.line(if self.top_2 {
            format!("combine = {} + {}", term("gate1 / both", 1), term("gate2 / both", 2))
        } else {
            format!("combine = {}", term("gate1", 1))
        });
    }

    /// Each token's gates, and its places in the queues before its experts.
    fn queue(self, text: &mut Text, member: &str, place: &str) {
        text.line("gates = softmax(choice, dim:expert_unsplit)");
        text.line("gate1 = max(gates, over:expert_unsplit)");
        text.line("first = one_hot(argmax(gates, dim:expert_unsplit), dim:expert_unsplit)");
        text.line(format!("place1 = cumsum(first, dim:{member} exclusive:on) * first"));
        text.line(format!("fits1 = first * less(place1, {})", self.capacity));
        if !self.top_2 {
            return;
        }
        text.line("others = gates * (1 - first)");
        text.line("gate2 = max(others, over:expert_unsplit)");
        text.line("both = gate1 + gate2 + 1e-9");
        let second = "one_hot(argmax(others, dim:expert_unsplit), dim:expert_unsplit)";
        let listed = place.replace(' ', ", ");
        let threshold = number(self.threshold);
        text.line(match self.second {
            Second::All => format!("second = {second}"),
            Second::None => format!("second = {second} * 0"),
            Second::Threshold => format!("second = {second} * less({threshold}, gate2 / both)"),
            Second::Random => {
                format!("second = {second} * less(random({listed}), gate2 / both / {threshold})")
            }
        });
        text.line(format!(
            "place2 = (cumsum(second, dim:{member} exclusive:on) + sum(fits1, over:{member})) * second"
        ));
        text.line(format!("fits2 = second * less(place2, {})", self.capacity));
    }

    /// E² · mean over groups and experts of (share of tokens sent · mean gate), times its weight.
    fn losses(self, text: &mut Text, member: &str) {
        let mut terms = "balance".to_owned();
        if self.balance_loss > 0.0 {
            let weight = self.balance_loss * (self.count as f64).powi(2);
            terms = format!(
                "{terms} + mean(mean(first, over:{member}) * mean(gates, over:{member})) * {}",
                number(weight)
            );
        }
        if self.z_loss > 0.0 {
            terms = format!(
                "{terms} + mean(square(logsumexp(choice, over:expert_unsplit))) * {}",
                number(self.z_loss)
            );
        }
        if terms != "balance" {
            text.line(format!("balance = {terms}"));
        }
    }
}
