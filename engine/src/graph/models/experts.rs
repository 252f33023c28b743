//! A mixture of experts as study text: gating, capacity, and the way there and back
//! (Shazeer et al. 2017; Lepikhin et al. 2020; the semantics are Mesh-TensorFlow's `moe.py`).
//!
//! Tokens are gated in groups; of a group, each expert takes `capacity` tokens, the rest pass by.
//! `dispatch` and `combine` say which token goes to which place of which expert.
//!
//! ```text
//! sent[expert_unsplit batch capacity d_model]      split by batch, where the tokens are
//!   → rename → [experts batch_unsplit capacity d_model]   split by experts: an Alltoall
//! hidden = relu(sent wi)   back = hidden wo        each expert with its own matrices
//!   → rename → [expert_unsplit batch capacity d_model]    and back
//! ```

use super::MAX_SIZE;
use super::feed_forward::{activated, matrices};
use super::settings::{Activation, idle, refuse};
use super::text::{Text, number};
use crate::graph::options::Reader;

/// Options of experts.
pub(super) const OPTIONS: &[&str] = &[
    "experts",
    "expert_hidden",
    "gating",
    "capacity_factor",
    "min_capacity",
    "group_size",
    "balance_loss",
    "router_z_loss",
    "second_policy",
    "threshold",
];

/// Which tokens go to their second expert too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Second {
    All,
    None,
    Threshold,
    Random,
}

/// How tokens of a group are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Groups {
    /// A sequence is a group.
    Sequences,
    /// A sequence is cut into groups.
    Chunks,
    /// Several sequences make a group.
    Several,
}

/// A mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Experts {
    /// How many.
    pub(super) count: u64,
    /// Every so many-th layer has experts.
    pub(super) every: u64,
    hidden: u64,
    pub(super) top_2: bool,
    pub(super) capacity: u64,
    group: u64,
    groups: Groups,
    pub(super) balance_loss: f64,
    pub(super) z_loss: f64,
    pub(super) second: Second,
    pub(super) threshold: f64,
}

impl Experts {
    /// Reads the options; nothing without `experts:`.
    pub(super) fn read(
        read: &mut Reader<'_, '_>,
        (batch, length): (u64, u64),
        hidden: u64,
        default: Option<u64>,
    ) -> Option<Self> {
        let policies = [
            ("random", Second::Random),
            ("all", Second::All),
            ("none", Second::None),
            ("threshold", Second::Threshold),
        ];
        let experts = read.whole("experts", 1, MAX_SIZE).or(default);
        let top_2 = read.choice("gating", &[("top2", true), ("top1", false)]).unwrap_or(true);
        let second = read.choice("second_policy", &policies).unwrap_or(Second::Random);
        let every = read.whole("expert_every", 1, 1000).unwrap_or(1);
        let hidden = read.whole("expert_hidden", 1, MAX_SIZE).unwrap_or(hidden);
        let factor = read.at_least_zero("capacity_factor").unwrap_or(1.25);
        let least = read.whole("min_capacity", 0, MAX_SIZE).unwrap_or(4);
        let mut group = read.whole("group_size", 1, MAX_SIZE).unwrap_or(length);
        let groups = if group == length {
            Groups::Sequences
        } else if length.is_multiple_of(group) {
            Groups::Chunks
        } else if batch.saturating_mul(length).is_multiple_of(group) && group.is_multiple_of(length)
        {
            Groups::Several
        } else {
            let message = format!(
                "A group is a part of a sequence of {length}, or whole sequences that the batch of {batch} divides into; {group} is neither"
            );
            refuse(read, "group_size", &message, length);
            group = length;
            Groups::Sequences
        };
        let made = Self {
            count: experts.unwrap_or(1),
            every,
            hidden,
            top_2,
            capacity: 1,
            group,
            groups,
            balance_loss: read.at_least_zero("balance_loss").unwrap_or(0.01),
            z_loss: read.at_least_zero("router_z_loss").unwrap_or(0.0),
            second,
            threshold: read.positive("threshold").unwrap_or(0.2),
        };
        if experts.is_none() {
            idle(read, &["expert_every"], "without experts");
            idle(read, &OPTIONS[1..], "without experts");
            return None;
        }
        if !top_2 {
            idle(read, &["second_policy", "threshold"], "on gating:top1");
        } else if !matches!(second, Second::Threshold | Second::Random) {
            idle(read, &["threshold"], "on this policy");
        }
        Some(made.with_capacity(read, factor, least))
    }

    /// max(min(group, ⌊group · factor / experts⌋), least)
    fn with_capacity(self, read: &mut Reader<'_, '_>, factor: f64, least: u64) -> Self {
        let share = (self.group as f64 * factor / self.count as f64) as u64;
        let capacity = share.min(self.group).max(least);
        if capacity == 0 {
            let message = format!(
                "No token finds a place: {} · {} / {} rounds down to a capacity of 0",
                self.group,
                number(factor),
                self.count
            );
            if read.get("min_capacity").is_some() {
                refuse(read, "min_capacity", &message, 1);
            }
        }
        Self { capacity: capacity.max(1), ..self }
    }

    /// The experts' answer to a tensor `[batch length d_model]`, as `mixed`, and their losses added
    /// to `balance`.
    pub(super) fn write(
        self,
        text: &mut Text,
        ffn: Activation,
        from: &str,
        (batch, length): (u64, u64),
    ) {
        for (dim, size) in [
            ("experts", self.count),
            ("expert_unsplit", self.count),
            ("expert_hidden", self.hidden),
            ("capacity", self.capacity),
        ] {
            text.dim(dim, size);
        }
        // How tokens lie: the dimension of groups, the one within, and others kept beside.
        let (lead, member, beside) = match self.groups {
            Groups::Sequences => ("batch", "length", ""),
            Groups::Chunks => {
                text.dim("chunk", length / self.group);
                ("batch", "group", "chunk ")
            }
            Groups::Several => {
                text.dim("groups", batch.saturating_mul(length) / self.group);
                ("groups", "group", "")
            }
        };
        let apart = format!("{lead}_unsplit");
        text.dim(
            &apart,
            if lead == "groups" { batch.saturating_mul(length) / self.group } else { batch },
        );
        let tokens = if member == "group" { "tokens" } else { from };
        if member == "group" {
            text.dim("group", self.group);
            let reshape = if lead == "batch" {
                "length -> chunk group"
            } else {
                "batch, length -> groups group"
            };
            text.line(format!("tokens = reshape({from}, {reshape})"));
        }
        text.line("param router[d_model expert_unsplit]");
        matrices(text, ffn, "experts ", "expert_hidden");
        let place = format!("{lead} {beside}{member}");
        text.line(format!("choice = einsum({tokens}, router -> {place} expert_unsplit)"));
        self.gate(text, member, &place);
        text.line("dispatch = less(0, combine)");
        let rest = format!("{beside}capacity");
        text.line(format!(
            "sent = rename(einsum(dispatch, {tokens} -> expert_unsplit {lead} {rest} d_model), expert_unsplit, {lead} -> experts {apart})"
        ));
        let product =
            |w: &str| format!("einsum(sent, {w} -> experts {apart} {rest} expert_hidden)");
        text.line(format!("hidden = {}", activated(ffn, &product("wi"), &product("gate"))));
        text.line(format!(
            "back = rename(einsum(hidden, wo -> experts {apart} {rest} d_model), experts, {apart} -> expert_unsplit {lead})"
        ));
        let mixed = format!("einsum(combine, back -> {place} d_model)");
        text.line(match self.groups {
            Groups::Sequences => format!("mixed = {mixed}"),
            Groups::Chunks => format!("mixed = reshape({mixed}, chunk, group -> length)"),
            Groups::Several => format!("mixed = reshape({mixed}, groups, group -> batch length)"),
        });
    }
}
