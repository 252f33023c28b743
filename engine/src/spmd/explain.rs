//! Why a collective is there, in words, from the Program alone (and the user's rules by name).

use super::collective::{Collective, CollectiveKind};
use super::field::Field;
use super::program::{Program, Step, Work};
use crate::graph::Graph;
use crate::graph::op::Op;
use crate::index::{Idx as _, MeshAxis, Stage, TensorAxis, ValueId};
use crate::layout::dims::Name;
use crate::layout::rules::LayoutRules;
use crate::layout::tensor::Combine;

/// The cause of a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// The tensor dimensions that caused it: summed, gathered, moved or split.
    pub dims: Vec<Name>,
    /// The cause as a sentence.
    pub text: String,
}

/// Explains a collective step; `None` for any other.
pub fn why(program: &Program, graph: &Graph, rules: &LayoutRules, step: &Step) -> Option<Why> {
    let Work::Collective(collective) = &step.work else { return None };
    let input = *step.inputs.first()?;
    let teller = Teller { program, graph, rules, step, collective, input };
    Some(match collective.kind {
        CollectiveKind::Allreduce(combine) => teller.settles(combine, None),
        CollectiveKind::Reducescatter(combine, to) => teller.settles(combine, Some(to)),
        CollectiveKind::Allgather(from) => teller
            .moves(&[from], |t, n| format!("its {n} blocks along `{}` are put together", t[0])),
        CollectiveKind::Allsplit(to) => teller
            .moves(&[to], |t, _| format!("each processor keeps its own block along `{}`", t[0])),
        CollectiveKind::Alltoall(from, to) => teller.moves(&[from, to], |t, n| {
            format!("its {n} blocks along `{}` are traded for blocks along `{}`", t[0], t[1])
        }),
        CollectiveKind::Receive(axis, field) => teller.receives(axis, field),
        CollectiveKind::Hop { from, .. } => teller.hops(from),
    })
}

struct Teller<'a> {
    program: &'a Program,
    graph: &'a Graph,
    rules: &'a LayoutRules,
    step: &'a Step,
    collective: &'a Collective,
    input: ValueId,
}

impl Teller<'_> {
    fn dim(&self, axis: TensorAxis) -> Name {
        Name::clone(&self.program.values[self.input].shape.dims()[axis.index()].name)
    }

    fn axes(&self) -> String {
        self.program.mesh.names(&self.collective.axes)
    }

    fn group(&self) -> u64 {
        self.program.mesh.group_size(&self.collective.axes)
    }

    /// The tensors carried, by name.
    fn tensors(&self) -> String {
        const NAMED: usize = 4;
        let name = |&v: &ValueId| self.program.values[v].name.to_string();
        let all = &self.step.inputs;
        let mut listed: Vec<String> = all.iter().map(name).collect();
        if all.len() > NAMED {
            listed.truncate(NAMED - 1);
            listed.push(format!("{} others", all.len() - listed.len()));
        }
        match listed.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, first)) => format!("{} and {last}", first.join(", ")),
            None => String::new(),
        }
    }

    /// The user's rules for these dimensions, as written, with the verb that follows.
    fn rules(&self, dims: &[Name], verb: [&str; 2]) -> String {
        let text = |d: &Name| {
            let rule = self.rules.rules().iter().find(|r| r.dim == *d)?;
            let mesh_dims: Vec<&str> = rule.mesh_dims.iter().map(|m| &**m).collect();
            Some(format!("{d}:{}", mesh_dims.join("+")))
        };
        let found: Vec<String> = dims.iter().filter_map(text).collect();
        match found.as_slice() {
            [] => format!("the layout {}", verb[0]),
            [one] => format!("the rule {one} {}", verb[0]),
            many => format!("the rules {} {}", many.join(" and "), verb[1]),
        }
    }

    /// Dimensions whose pending combination this collective settles: those split by its axes.
    fn settled_dims(&self) -> Vec<Name> {
        let touches = |d: &Name| {
            let axes: Vec<MeshAxis> = self.rules.mesh_axes(d, &self.program.mesh);
            axes.iter().any(|a| self.collective.axes.contains(a))
        };
        let mut pending: Vec<Name> = Vec::new();
        for name in self.step.inputs.iter().flat_map(|&v| &self.program.values[v].pending) {
            if !pending.contains(name) {
                pending.push(Name::clone(name));
            }
        }
        let own: Vec<Name> = pending.iter().filter(|d| touches(d)).cloned().collect();
        if own.is_empty() { pending } else { own }
    }

    fn settles(&self, combine: Combine, to: Option<TensorAxis>) -> Why {
        let dims = self.settled_dims();
        let listed: Vec<String> = dims.iter().map(|d| format!("`{d}`")).collect();
        let is_one = self.step.inputs.len() == 1;
        let does = match (combine, is_one) {
            (Combine::Sum, true) => "sums over",
            (Combine::Sum, false) => "sum over",
            (Combine::Max, true) => "takes the greatest over",
            (Combine::Max, false) => "take the greatest over",
            (Combine::Min, true) => "takes the least over",
            (Combine::Min, false) => "take the least over",
        };
        let (part, adds) = match combine {
            Combine::Sum => ("summand", "adds them up"),
            Combine::Max => ("candidate", "takes the greatest"),
            Combine::Min => ("candidate", "takes the least"),
        };
        let parts = if is_one { format!("a {part}") } else { format!("a {part} of each") };
        let article = if is_one { "the" } else { "one" };
        let end = match to {
            None => "on all of them".to_owned(),
            Some(to) => format!("and leaves each its block along `{}`", self.dim(to)),
        };
        let text = format!(
            "{} {does} {}, which {} over `{}`: each of the {} processors of a group holds {parts}, and {article} {} {adds} {end}.",
            self.tensors(),
            listed.join(" and "),
            self.rules(&dims, ["splits", "split"]),
            self.axes(),
            self.group(),
            self.collective.kind.title(),
        );
        Why { dims, text }
    }

    fn moves(&self, axes: &[TensorAxis], what: impl Fn(&[Name], u64) -> String) -> Why {
        let dims: Vec<Name> = axes.iter().map(|&a| self.dim(a)).collect();
        let tensor = &self.program.values[self.input].name;
        let user = self.graph.node(self.step.node);
        let own = self.program.values[self.input].node == self.step.node;
        let cause = if own && matches!(user.op, Op::Rename) {
            format!(
                "{tensor} has new dimension names, and {} it anew",
                self.rules(&self.all_dims(), ["lays", "lay"])
            )
        } else if own {
            format!(
                "{tensor} is brought into the layout that {} it",
                self.rules(&self.all_dims(), ["gives", "give"])
            )
        } else {
            format!(
                "in the operation that makes {}, `{}` already splits another dimension, so {tensor} has to make way",
                user.name,
                self.axes()
            )
        };
        let text = format!("{cause}: {}, over `{}`.", what(&dims, self.group()), self.axes());
        Why { dims, text }
    }

    fn receives(&self, axis: TensorAxis, field: Field) -> Why {
        let dim = self.dim(axis);
        let dims = vec![Name::clone(&dim)];
        let value = &self.program.values[self.input];
        let user = &self.graph.node(self.step.node).name;
        let text = format!(
            "for its slice of {user} each processor reads {} positions of {} along `{dim}`, which {} over `{}` into {} positions each: it receives what others of its group of {} hold of them.",
            field.length,
            value.name,
            self.rules(&dims, ["splits", "split"]),
            self.axes(),
            field.local,
            self.group(),
        );
        Why { dims, text }
    }

    fn hops(&self, from: Stage) -> Why {
        let value = &self.program.values[self.input];
        let (name, to) = (&value.name, value.stage);
        let of = |stage: Stage| self.program.cells.as_ref().map(|cells| cells.part_of(stage));
        let stage = |stage| self.program.cells.as_ref().map_or(String::new(), |c| c.name(stage));
        let part = of(to).map_or(to, |(part, _)| part).0;
        let does = match (of(from), of(to)) {
            (Some((a, 1)), Some((b, 0))) if a == b => format!(
                "both copies of stage {part} have a part of {name}, each of its own micro-batches: the first receives the second’s and adds it, each processor"
            ),
            (Some((a, 0)), Some((b, 1))) if a == b => format!(
                "the new {name} goes to the second copy of stage {part}, so that both copies stay equal: each processor there receives its slice"
            ),
            (_, _) => format!(
                "{name} is made at {} of the pipeline and read at {}: each processor there receives its slice",
                stage(from),
                stage(to)
            ),
        };
        let text = format!("{does} from its counterpart along `{}`.", self.axes());
        Why { dims: Vec::new(), text }
    }

    fn all_dims(&self) -> Vec<Name> {
        let shape = &self.program.values[self.input].shape;
        shape.dims().iter().map(|d| Name::clone(&d.name)).collect()
    }
}
