//! The Checker: the grammar of Programs. It walks one as a [`MeshImpl`] that knows layouts only and
//! stops at the first step whose layouts do not follow from its inputs'.

use super::collective::Collective;
use super::program::{Entry, Program, Search, Step, Varies, Work};
use super::reshape;
use super::run::{MeshImpl, run};
use super::tape::Instr;
use crate::graph::op::Phase;
use crate::index::{IdVec, Idx as _, MeshAxis, Stage, ValueId};
use crate::layout::dims::Name;
use crate::layout::tensor::{Combine, TensorLayout};

/// What is wrong with a Program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation(pub String);

/// Checks every step of a Program.
pub fn check(program: &Program) -> Result<(), Violation> {
    let none = |v: ValueId| vec![false; program.instances(v).count()];
    let mut alive: IdVec<ValueId, Vec<bool>> = program.values.ids().map(none).collect();
    for &source in &program.sources {
        alive[source].fill(true);
    }
    let mut checker = Checker { program, alive, now: program.order.first().copied() };
    run(program, Phase::Update, &mut checker)?;
    match program.loss {
        Some(loss) if !checker.is_alive(loss) => Err(Violation("the loss was freed".to_owned())),
        Some(loss) if !program.values[loss].layout.is_settled() => {
            Err(Violation("the loss is not settled".to_owned()))
        }
        _ => Ok(()),
    }
}

struct Checker<'p> {
    program: &'p Program,
    /// For each instance of a value whether it is there.
    alive: IdVec<ValueId, Vec<bool>>,
    now: Option<Entry>,
}

type Splits = Vec<(Name, Vec<MeshAxis>)>;

impl Checker<'_> {
    /// The instance of a value that is meant now.
    fn instance(&self, value: ValueId) -> usize {
        self.program.instance(value, self.now.map_or(0, |e| e.micro))
    }

    fn is_alive(&self, value: ValueId) -> bool {
        self.alive[value][self.instance(value)]
    }

    /// Sets whether a value is there; whether it was.
    fn set_alive(&mut self, value: ValueId, is: bool) -> bool {
        let instance = self.instance(value);
        std::mem::replace(&mut self.alive[value][instance], is)
    }

    fn read(&self, index: usize, step: &Step) -> Result<(), Violation> {
        let stage = self.program.stage(step);
        if step.inputs.iter().any(|&v| self.program.values[v].stage != stage) {
            return Err(self.fault(index, "reads what other processors hold"));
        }
        self.stands(index, &[stage])?;
        match step.inputs.iter().find(|&&v| !self.is_alive(v)) {
            Some(&v) => Err(self.fault(index, &format!("reads {v:?}, which is not there"))),
            None => Ok(()),
        }
    }

    /// Each place along the pipeline walks by itself: a step has to do with one of them, with that
    /// of its body's stage where the body belongs to one.
    fn stands(&self, index: usize, stages: &[Stage]) -> Result<(), Violation> {
        let body = &self.program.bodies[self.program.steps[index].body];
        let own = if body.kind.varies() { Some(&body.stage) } else { stages.first() };
        let rank = |stage: &Stage| self.program.rank(*stage);
        if stages.iter().any(|stage| Some(rank(stage)) != own.map(rank)) {
            return Err(self.fault(index, "stands in a body of other processors"));
        }
        Ok(())
    }

    fn make(&mut self, index: usize, step: &Step) -> Result<ValueId, Violation> {
        for &output in &step.outputs {
            let repeats = self.program.repeats(step.body);
            if repeats
                && self.program.values[output].varies == Varies::No
                && step.work != Work::Accumulate
            {
                return Err(self.fault(index, "is made once for each micro-batch"));
            }
            let was_there = self.set_alive(output, true);
            if was_there && step.work != Work::Accumulate {
                return Err(self.fault(index, "makes a value that is there already"));
            }
        }
        step.output().ok_or_else(|| self.fault(index, "makes nothing"))
    }

    fn fault(&self, index: usize, what: &str) -> Violation {
        let step = &self.program.steps[index];
        let name = step.output().map_or("", |o| &self.program.values[o].name);
        Violation(format!("step {index} ({name}): {what}"))
    }

    fn layout(&self, value: ValueId) -> &TensorLayout {
        &self.program.values[value].layout
    }

    /// The splits of all inputs' and the output's dimensions; they must agree.
    fn splits(&self, index: usize, step: &Step, output: ValueId) -> Result<Splits, Violation> {
        let mut all: Splits = Vec::new();
        for &value in step.inputs.iter().chain([&output]) {
            let v = &self.program.values[value];
            for (d, axes) in v.shape.dims().iter().zip(v.layout.splits()) {
                match all.iter().find(|(n, _)| *n == d.name) {
                    Some((_, same)) if same == axes => {}
                    Some(_) => {
                        let what = format!("`{}` is split in two ways", d.name);
                        return Err(self.fault(index, &what));
                    }
                    None => all.push((Name::clone(&d.name), axes.clone())),
                }
            }
        }
        let mut axes: Vec<MeshAxis> = all.iter().flat_map(|(_, a)| a).copied().collect();
        axes.sort_unstable();
        if axes.windows(2).any(|w| w[0] == w[1]) {
            return Err(self.fault(index, "one mesh dimension splits two dimensions"));
        }
        Ok(all)
    }

    fn expect_partial(
        &self,
        index: usize,
        output: ValueId,
        mut expected: Vec<(MeshAxis, Combine)>,
    ) -> Result<(), Violation> {
        expected.sort_unstable();
        if self.layout(output).partial() == expected {
            return Ok(());
        }
        let what = format!(
            "partial values {:?} expected, {:?} stated",
            expected,
            self.layout(output).partial()
        );
        Err(self.fault(index, &what))
    }

    /// For work whose output's layout follows from its input's by position: whether it does.
    fn passes(&self, step: &Step, output: ValueId) -> Option<bool> {
        let (from, to) = (self.layout(*step.inputs.first()?), self.layout(output));
        let shapes =
            (&self.program.values[step.inputs[0]].shape, &self.program.values[output].shape);
        let same_partial = from.partial() == to.partial();
        match &step.work {
            Work::Rename | Work::Accumulate | Work::Send => Some(from == to),
            Work::Reshape => Some(same_partial && reshape::passes(shapes.0, from, shapes.1, to)),
            Work::Window(frame) | Work::Unwindow(frame) => {
                // The window's axis, whole, stands after that of the places on one side.
                let window = frame.axis.index() + 1;
                let without = |layout: &TensorLayout, has: bool| {
                    let mut splits = layout.splits().to_vec();
                    let is_whole = !has || splits.remove(window).is_empty();
                    is_whole.then_some(splits)
                };
                let read = matches!(step.work, Work::Unwindow(_));
                let sides = (
                    without(from, frame.has_window && read),
                    without(to, frame.has_window && !read),
                );
                Some(same_partial && sides.0.is_some() && sides.0 == sides.1)
            }
            Work::TopK(_, Search::Own) => {
                let (splits, pair) = to.splits().split_at(from.rank());
                Some(to.is_settled() && splits == from.splits() && pair == [Vec::new()])
            }
            Work::TopK(axis, search) => {
                let mut splits = from.splits().to_vec();
                let is_pair = *search == Search::Candidates;
                let pair_is_whole = !is_pair || splits.pop().is_some_and(|pair| pair.is_empty());
                let is_whole = splits.remove(axis.index()).is_empty() && pair_is_whole;
                let kept = to.splits();
                let ranks = kept.get(splits.len()..).unwrap_or_default();
                let alike = kept.get(..splits.len()) == Some(&splits[..]);
                Some(same_partial && is_whole && alike && ranks.iter().all(Vec::is_empty))
            }
            Work::Cumsum(axis, _) => Some(from == to && from.split(*axis).is_empty()),
            Work::Einsum
            | Work::Reduce(_)
            | Work::Tape(_)
            | Work::Gather(_)
            | Work::Scatter(_)
            | Work::Collective(_)
            | Work::Assign
            | Work::Free => None,
        }
    }

    /// Axes over which the dimensions that the output lacks are split.
    fn contracted(&self, splits: &Splits, output: ValueId) -> Vec<MeshAxis> {
        let shape = &self.program.values[output].shape;
        let gone = splits.iter().filter(|(n, _)| !shape.has(n)).flat_map(|(_, a)| a);
        gone.copied().filter(|&a| self.program.mesh.size(a) > 1).collect()
    }

    fn tape(&self, index: usize, step: &Step, output: ValueId) -> Result<(), Violation> {
        let Work::Tape(tape) = &step.work else { return Ok(()) };
        for (at, instr) in tape.code().iter().enumerate() {
            let (registers, load): (Vec<u16>, Option<u16>) = match *instr {
                Instr::Load(k) => (vec![], Some(k)),
                Instr::One(_, a) => (vec![a], None),
                Instr::Two(_, a, b) => (vec![a, b], None),
                Instr::Three(_, a, b, c) => (vec![a, b, c], None),
                Instr::Constant(_)
                | Instr::StepNumber
                | Instr::Training
                | Instr::Share
                | Instr::Index(_)
                | Instr::Noise(..) => (vec![], None),
            };
            let bad = registers.iter().any(|&r| usize::from(r) >= at)
                || load.is_some_and(|k| usize::from(k) >= step.inputs.len());
            if bad {
                return Err(self.fault(index, "an instruction reads what is not there yet"));
            }
        }
        // All partial inputs are partial alike, and so is the result.
        let mut partial: Vec<&[(MeshAxis, Combine)]> =
            step.inputs.iter().map(|&i| self.layout(i).partial()).collect();
        partial.retain(|p| !p.is_empty());
        let first = partial.first().map_or(&[][..], |p| *p);
        if partial.iter().any(|p| *p != first) {
            return Err(self.fault(index, "inputs are partial over different mesh dimensions"));
        }
        self.expect_partial(index, output, first.to_vec())
    }
}

impl MeshImpl for Checker<'_> {
    type Error = Violation;

    fn enter(&mut self, _index: usize, entry: Entry) -> Result<(), Violation> {
        self.now = Some(entry);
        Ok(())
    }

    fn compute(&mut self, index: usize, step: &Step) -> Result<(), Violation> {
        self.read(index, step)?;
        let output = self.make(index, step)?;
        if let Some(passes) = self.passes(step, output) {
            return if passes { Ok(()) } else { Err(self.fault(index, "changes the layout")) };
        }
        let splits = self.splits(index, step, output)?;
        let mut expected: Vec<(MeshAxis, Combine)> = Vec::new();
        match &step.work {
            Work::Tape(_) => return self.tape(index, step, output),
            Work::Reduce(reduction) => {
                let axes = self.contracted(&splits, output);
                expected.extend(axes.iter().map(|&a| (a, reduction.combine())));
            }
            Work::Einsum | Work::Gather(_) | Work::Scatter(_) => {
                let axes = self.contracted(&splits, output);
                expected.extend(axes.iter().map(|&a| (a, Combine::Sum)));
            }
            Work::Rename
            | Work::Reshape
            | Work::Window(_)
            | Work::Unwindow(_)
            | Work::TopK(..)
            | Work::Cumsum(..)
            | Work::Collective(_)
            | Work::Accumulate
            | Work::Send
            | Work::Assign
            | Work::Free => {}
        }
        for &input in &step.inputs {
            expected.extend(self.layout(input).partial());
        }
        self.expect_partial(index, output, expected)
    }

    fn collective(
        &mut self,
        index: usize,
        step: &Step,
        collective: &Collective,
    ) -> Result<(), Violation> {
        self.read(index, step)?;
        self.make(index, step)?;
        if step.inputs.len() != step.outputs.len() {
            return Err(self.fault(index, "carries not as many tensors as it makes"));
        }
        for (input, output) in step.carried() {
            let from = &self.program.values[input];
            match collective.retype(&from.layout, &from.shape, &self.program.mesh) {
                Ok(layout) if layout == *self.layout(output) => {}
                Ok(_) => {
                    return Err(
                        self.fault(index, "the stated layout is not what the collective makes")
                    );
                }
                Err(e) => {
                    return Err(self.fault(index, &format!("the collective does not fit: {e:?}")));
                }
            }
        }
        Ok(())
    }

    fn assign(&mut self, index: usize, target: ValueId, new: ValueId) -> Result<(), Violation> {
        let stage = |v: ValueId| self.program.values[v].stage;
        self.stands(index, &[stage(target), stage(new)])?;
        let ok = self.program.sources.contains(&target)
            && self.is_alive(new)
            && self.layout(target) == self.layout(new);
        if ok { Ok(()) } else { Err(Violation(format!("{target:?} cannot become {new:?}"))) }
    }

    fn free(&mut self, index: usize, value: ValueId) -> Result<(), Violation> {
        self.stands(index, &[self.program.values[value].stage])?;
        if self.set_alive(value, false) {
            Ok(())
        } else {
            Err(Violation(format!("{value:?} is freed and was not there")))
        }
    }
}
