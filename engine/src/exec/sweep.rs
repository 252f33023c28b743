//! Sweeps: neighbouring steps that make their rows from the same rows are done tile by tile.
//!
//! ```text
//! max  = reduce max logits       for each tile of rows that fits the cache:
//! e    = exp(logits - max)           max, e, sum, and softmax of these rows
//! sum  = reduce sum e
//! softmax = e / sum              only softmax is ever stored
//! ```
//!
//! A softmax, a norm, a cross-entropy, and an optimizer's update of a parameter and its slots each
//! read memory once and write it once. What only members of a sweep read is never stored, and an
//! update is written where the old value lies, if nobody else reads that.
//!
//! The rows of a sweep are the dimensions with which the results of all its members begin. What the
//! Program says is done, counted and held stays as it is: a sweep is how it is done.

use super::elementwise::Moment;
use super::kernel::{Kernel, Place, TASK};
use super::number::{Number, Scraps};
use super::strides::Input;
use crate::index::{IdVec, ValueId};
use crate::layout::dims::Name;
use crate::spmd::program::{Program, Step, Work};

/// Numbers of the widest value in a tile.
const TILE: usize = 1 << 12;
/// The widest rows that still fit.
const WIDEST: usize = 1 << 14;
/// Rows that threads can share.
const FEWEST_ROWS: usize = 16;
/// Steps between a member and the next.
const REACH: usize = 40;

/// How a step is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// By itself.
    Alone,
    /// It is the first of a sweep, which is done in its place.
    First(usize),
    /// With an earlier sweep.
    Done,
}

/// Steps done together.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Steps that are made earlier for it: numbers that members read.
    pub before: Vec<usize>,
    /// The steps in order.
    pub members: Vec<Member>,
    /// Values that members read and no member makes.
    pub reads: Vec<ValueId>,
    rows: usize,
}

/// A step of a sweep.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its index in the Program.
    pub step: usize,
    /// What it makes.
    pub value: ValueId,
    /// Whether others than members read that.
    pub is_stored: bool,
    /// The value read, by its index in `reads`, in whose place the result can be written.
    pub over: Option<usize>,
    inputs: Vec<Operand>,
    width: usize,
}

#[derive(Debug, Clone, Copy)]
enum Operand {
    /// A value read, by its index in `reads`.
    Read(usize),
    /// A member's result.
    Made(usize),
}

/// What one result of a sweep is made from.
#[derive(Debug)]
pub struct Context<'x, T> {
    /// The values read; nothing for those that are being overwritten.
    pub reads: Vec<Option<&'x [T]>>,
    /// Where the processor stands, for every member.
    pub places: Vec<Place>,
}

/// Some rows of all values that a sweep stores, in the order of its members.
#[derive(Debug)]
pub struct Rows<'o, T> {
    first: usize,
    parts: Vec<&'o mut [T]>,
}

impl Sweep {
    /// Cuts the values that are stored into tasks.
    pub fn tasks<'o, T>(&self, stored: Vec<&'o mut [T]>) -> Vec<Rows<'o, T>> {
        let rows = (TASK / self.widest()).max(1).next_multiple_of(self.tile());
        let task = |i: usize| Rows { first: i * rows, parts: Vec::with_capacity(stored.len()) };
        let mut tasks: Vec<Rows<'o, T>> = (0..self.rows.div_ceil(rows)).map(task).collect();
        let widths = self.members.iter().filter(|m| m.is_stored).map(|m| m.width);
        for (value, width) in stored.into_iter().zip(widths) {
            for (task, part) in tasks.iter_mut().zip(value.chunks_mut(rows * width)) {
                task.parts.push(part);
            }
        }
        tasks
    }

    fn widest(&self) -> usize {
        self.members.iter().map(|m| m.width).max().unwrap_or(1)
    }

    fn tile(&self) -> usize {
        (TILE / self.widest()).max(1)
    }

    /// Does a task.
    pub fn work<T: Number>(
        &self,
        kernels: &[Kernel],
        context: &Context<'_, T>,
        moment: Moment,
        Rows { first, mut parts }: Rows<'_, T>,
        scraps: &mut Scraps<T>,
    ) {
        let stored = || self.members.iter().filter(|m| m.is_stored);
        let rows = stored().zip(&parts).map(|(m, part)| part.len() / m.width).next().unwrap_or(0);
        for start in (0..rows).step_by(self.tile()) {
            let count = self.tile().min(rows - start);
            let tile = parts.iter_mut().zip(stored());
            let tile = tile.map(|(p, m)| &mut p[start * m.width..(start + count) * m.width]);
            self.tile_work(
                kernels,
                context,
                moment,
                (first + start, count, tile.collect()),
                scraps,
            );
        }
    }

    fn tile_work<T: Number>(
        &self,
        kernels: &[Kernel],
        context: &Context<'_, T>,
        moment: Moment,
        (first, count, stored): (usize, usize, Vec<&mut [T]>),
        Scraps { registers, tiles }: &mut Scraps<T>,
    ) {
        let is_over = |m: &Member| m.over.is_some_and(|read| context.reads[read].is_none());
        let room = |m: &Member| usize::from(!m.is_stored) + usize::from(is_over(m));
        let length: usize = self.members.iter().map(|m| room(m) * m.width * count).sum();
        if tiles.len() < length {
            tiles.resize(length, T::zero());
        }
        let mut free = &mut tiles[..];
        let mut cut = |length: usize| {
            let (tile, rest) = std::mem::take(&mut free).split_at_mut(length);
            free = rest;
            tile
        };
        let mut stored = stored.into_iter();
        // Where members write, and what lies there before they do.
        let mut made: Vec<&mut [T]> = Vec::with_capacity(self.members.len());
        let mut old: Vec<(usize, &[T], usize)> = Vec::new();
        for member in &self.members {
            let length = member.width * count;
            let target = if member.is_stored { stored.next() } else { None };
            let target = target.unwrap_or_else(|| cut(length));
            if let Some(read) = member.over.filter(|_| is_over(member)) {
                let copy = cut(length);
                copy.copy_from_slice(target);
                old.push((read, copy, first * member.width));
            }
            made.push(target);
        }
        for (i, member) in self.members.iter().enumerate() {
            let (before, rest) = made.split_at_mut(i);
            let operand = |operand: &Operand| match *operand {
                Operand::Made(k) => Input::part(&*before[k], first * self.members[k].width),
                Operand::Read(read) => match context.reads[read] {
                    Some(slice) => Input::whole(slice),
                    None => old
                        .iter()
                        .find(|o| o.0 == read)
                        .map_or(Input::whole(&[]), |&(_, copy, from)| Input::part(copy, from)),
                },
            };
            let inputs: Vec<Input<'_, T>> = member.inputs.iter().map(operand).collect();
            let out = (first * member.width, &mut *rest[0]);
            kernels[member.step].compute(&inputs, &context.places[i], moment, out, registers);
        }
    }
}

/// Finds the sweeps of a Program, and the role of each of its steps.
pub fn sweeps(program: &Program, kernels: &[Kernel]) -> (Vec<Sweep>, Vec<Role>) {
    let mut finder = Finder::new(program, kernels);
    let mut sweeps = Vec::new();
    for i in 0..program.steps.len() {
        if let Some(sweep) = finder.sweep(i) {
            for &done in sweep.before.iter().chain(sweep.members.iter().map(|m| &m.step)) {
                finder.roles[done] = Role::Done;
                finder.done_at[done] = i;
            }
            finder.roles[i] = Role::First(sweeps.len());
            sweeps.push(sweep);
        }
    }
    (sweeps, finder.roles)
}

struct Finder<'p> {
    program: &'p Program,
    kernels: &'p [Kernel],
    roles: Vec<Role>,
    /// In the place of which step each is done.
    done_at: Vec<usize>,
    /// The step that makes each value, and those that read it, `Assign` to it left out.
    maker: IdVec<ValueId, Option<usize>>,
    readers: IdVec<ValueId, Vec<usize>>,
    /// Whether a value is freed within the training step.
    is_freed: IdVec<ValueId, bool>,
    /// Where a source gets its next value.
    assigned: IdVec<ValueId, Option<usize>>,
}

/// A sweep that is being gathered.
struct Draft {
    before: Vec<usize>,
    members: Vec<usize>,
    rows: Vec<(Name, usize)>,
}

impl<'p> Finder<'p> {
    fn new(program: &'p Program, kernels: &'p [Kernel]) -> Self {
        let mut finder = Self {
            program,
            kernels,
            roles: vec![Role::Alone; program.steps.len()],
            done_at: (0..program.steps.len()).collect(),
            maker: program.values.iter().map(|_| None).collect(),
            readers: program.values.iter().map(|_| Vec::new()).collect(),
            is_freed: program.values.iter().map(|_| false).collect(),
            assigned: program.values.iter().map(|_| None).collect(),
        };
        for (i, step) in program.steps.iter().enumerate() {
            for &output in &step.outputs {
                finder.maker[output] = Some(i);
            }
            match (&step.work, &step.inputs[..]) {
                (Work::Free, &[value]) => finder.is_freed[value] = true,
                (Work::Assign, &[target, new]) => {
                    finder.assigned[target] = Some(i);
                    finder.readers[new].push(i);
                }
                (_, inputs) => inputs.iter().for_each(|&v| finder.readers[v].push(i)),
            }
        }
        finder
    }

    fn dims(&self, value: ValueId) -> Vec<(Name, usize)> {
        let shape = self.program.values[value].shape.dims().iter();
        let sizes = self.program.slice_sizes(value);
        shape.zip(sizes).map(|(d, s)| (Name::clone(&d.name), s as usize)).collect()
    }

    /// What a step makes, if it makes each row of it from rows.
    fn makes_rows(&self, i: usize) -> Option<ValueId> {
        let step = &self.program.steps[i];
        let output = step.output().filter(|_| self.roles[i] == Role::Alone)?;
        let ok = match &self.kernels[i] {
            Kernel::Tape(_) => true,
            Kernel::Reduce(_) | Kernel::Sums(_) => {
                self.dims(step.inputs[0]).starts_with(&self.dims(output))
            }
            Kernel::Matrices(_)
            | Kernel::Window(_)
            | Kernel::Unwindow(_)
            | Kernel::Gather(..)
            | Kernel::Scatter(..)
            | Kernel::TopK(..)
            | Kernel::Cumsum(..)
            | Kernel::Copy => false,
        };
        ok.then_some(output)
    }

    /// The sweep that begins with a step, if one does.
    fn sweep(&self, first: usize) -> Option<Sweep> {
        let output = self.makes_rows(first)?;
        let rows = self.dims(output);
        let mut draft = Draft { before: Vec::new(), members: vec![first], rows };
        let mut last = first;
        for (i, step) in self.program.steps.iter().enumerate().skip(first + 1) {
            let Step { phase, body, .. } = self.program.steps[first];
            if (step.phase, step.body) != (phase, body) || i > last + REACH {
                break;
            }
            let values = &self.program.values;
            if step.output().is_some_and(|v| values[v].stage != values[output].stage) {
                continue;
            }
            if self.joins(&mut draft, i).is_some() {
                last = i;
            }
        }
        let sweep = self.finish(draft);
        let is_worth = sweep.members.len() > 1 || sweep.members.iter().any(|m| m.over.is_some());
        is_worth.then_some(sweep)
    }

    /// Takes a step into a sweep, if it can be.
    fn joins(&self, draft: &mut Draft, i: usize) -> Option<()> {
        let output = self.makes_rows(i)?;
        let dims = self.dims(output);
        let common = draft.rows.iter().zip(&dims).take_while(|(a, b)| a == b).count();
        let rows: usize = dims[..common].iter().map(|d| d.1).product();
        let inputs = &self.program.steps[i].inputs;
        let reads = |m: &usize| self.program.steps[*m].inputs.iter().any(|v| inputs.contains(v));
        let makes =
            |m: &usize| self.program.steps[*m].output().is_some_and(|made| inputs.contains(&made));
        let is_kin = draft.members.iter().any(|m| reads(m) || makes(m));
        let fits = draft.members.iter().filter_map(|&m| self.program.steps[m].output());
        let fits = fits.chain([output]).all(|value| {
            let elements = self.program.slice_elements(value) as usize;
            elements <= WIDEST * rows && (rows >= FEWEST_ROWS || elements <= TASK)
        });
        if !is_kin || !fits {
            return None;
        }
        let mut before = draft.before.clone();
        for &input in inputs {
            self.available(draft, &mut before, input, i)?;
        }
        draft.before = before;
        draft.rows.truncate(common);
        draft.members.push(i);
        Some(())
    }

    /// Whether a value that step `i` reads is there when the sweep is done; small ones that are made
    /// later by themselves are then made before.
    fn available(
        &self,
        draft: &Draft,
        before: &mut Vec<usize>,
        value: ValueId,
        i: usize,
    ) -> Option<()> {
        let first = draft.members[0];
        let changes = self.assigned[value].is_some_and(|at| first < at && at < i);
        let Some(maker) = self.maker[value] else { return (!changes).then_some(()) };
        let is_there = self.done_at[maker] < first;
        if is_there || draft.members.contains(&maker) || before.contains(&maker) {
            return Some(());
        }
        let step = &self.program.steps[maker];
        let is_small = self.roles[maker] == Role::Alone
            && matches!(self.kernels[maker], Kernel::Tape(_))
            && self.program.slice_elements(value) == 1
            && step.phase == self.program.steps[first].phase
            && step.body == self.program.steps[first].body;
        if !is_small || step.inputs.iter().any(|v| self.is_made_by(draft, *v)) {
            return None;
        }
        for &input in &step.inputs {
            self.available(draft, before, input, maker)?;
        }
        before.push(maker);
        Some(())
    }

    fn is_made_by(&self, draft: &Draft, value: ValueId) -> bool {
        self.maker[value].is_some_and(|maker| draft.members.contains(&maker))
    }

    fn finish(&self, draft: Draft) -> Sweep {
        let Draft { before, members, rows } = draft;
        let rows: usize = rows.iter().map(|d| d.1).product();
        let mut reads: Vec<ValueId> = Vec::new();
        let mut made: Vec<Member> = Vec::new();
        for &m in &members {
            let step = &self.program.steps[m];
            let Some(value) = step.output() else { continue };
            let operand = |&input: &ValueId| {
                if let Some(k) = made.iter().position(|other| other.value == input) {
                    return Operand::Made(k);
                }
                let known = reads.iter().position(|&r| r == input);
                Operand::Read(known.unwrap_or_else(|| {
                    reads.push(input);
                    reads.len() - 1
                }))
            };
            let inputs = step.inputs.iter().map(operand).collect();
            let is_stored = !self.is_freed[value]
                || self.readers[value].iter().any(|reader| !members.contains(reader));
            let width = self.program.slice_elements(value) as usize / rows;
            let over = None;
            made.push(Member { step: m, value, is_stored, over, inputs, width });
        }
        for member in &mut made {
            let over = self.readers[member.value].iter().find_map(|&reader| {
                let assign = &self.program.steps[reader];
                let Step { work: Work::Assign, inputs, .. } = assign else { return None };
                let target = inputs[0];
                // A run that stops before it is assigned must not have changed it.
                let first = &self.program.steps[members[0]];
                if (assign.phase, assign.body) != (first.phase, first.body) {
                    return None;
                }
                let only_here = |r: &usize| *r < members[0] || members.contains(r);
                let only_here = self.readers[target].iter().all(only_here);
                reads.iter().position(|&r| r == target && only_here)
            });
            member.over = over;
        }
        Sweep { before, members: made, reads, rows }
    }
}
