//! Collectives: what the members of a group make of each other's slices, counted as it happens.

use super::Host;
use super::work::chunks;
use crate::exec::buffers::Buffer;
use crate::exec::kernel::TASK;
use crate::exec::number::Number;
use crate::exec::pool::Pool;
use crate::exec::post::{Closed, Letter, Wait};
use crate::index::{Pnum, Stage, ValueId};
use crate::layout::tensor::Combine;
use crate::spmd::collective::{Collective, Part};
use std::collections::BTreeMap;
use std::sync::Arc;

impl<T: Number, P: Pool> Host<T, P> {
    /// The processors of a value's stage, in order.
    fn holders(&self, value: ValueId) -> Vec<Pnum> {
        self.program.pnums(self.program.values[value].stage).collect()
    }

    /// What the processors of a value's stage hold of it, in order.
    fn letter(&self, value: ValueId) -> Letter<T> {
        let slice = |p: Pnum| self.at(value)[p.0 as usize].as_ref().map(Arc::clone);
        self.holders(value).into_iter().map(slice).collect()
    }

    /// Gives the processors of a value's stage their slices of it.
    fn open(&mut self, value: ValueId, letter: Letter<T>) {
        let holders = self.holders(value);
        let places = self.at_mut(value);
        for (p, slice) in holders.into_iter().zip(letter) {
            places[p.0 as usize] = slice;
        }
    }

    /// Sends slices to the processors of another stage, and does not wait until they are there.
    pub(super) fn send(&mut self, input: ValueId, output: ValueId) {
        let letter = self.letter(input);
        if self.places.contains(&self.program.rank(self.program.values[output].stage)) {
            self.open(output, letter);
        } else {
            self.common.post.deposit((output, self.instance(output)), letter);
        }
    }

    /// Waits for what a stage sends, if that is another host's.
    pub(super) fn receive(&mut self, from: Stage, value: ValueId) -> Result<(), Closed> {
        if self.places.contains(&self.program.rank(from)) {
            return Ok(());
        }
        let instance = self.instance(value);
        let post = &self.common.post;
        let letter = if let Some(letter) = post.take((value, instance)) {
            letter
        } else {
            let wait = || post.wait(self.number, Wait { value, from }, instance);
            match &mut self.stopwatch {
                Some(stopwatch) => stopwatch.wait(wait)?,
                None => wait()?,
            }
        };
        self.open(value, letter);
        Ok(())
    }

    /// Keeps what has arrived; what other processors sent is counted.
    pub(super) fn keep(&mut self, input: ValueId, output: ValueId, is_sent: bool) {
        let letter = self.letter(input);
        for slice in letter.iter().flatten().filter(|_| is_sent) {
            self.counted.messages += 1;
            self.counted.bytes += slice.len() as u64 * T::BYTES;
        }
        self.open(output, letter);
    }

    /// Does a collective with one of the tensors it carries; the first `begins` its messages.
    pub(super) fn exchange(
        &mut self,
        collective: &Collective,
        input: ValueId,
        output: ValueId,
        begins: bool,
    ) {
        let program = Arc::clone(&self.program);
        let sizes = program.slice_sizes(input);
        let combine = collective.combine().unwrap_or(Combine::Sum);
        // Which result each processor gets, and for each result: its group and its member.
        let stage = program.values[input].stage;
        let here: Vec<usize> = program.pnums(stage).map(|p| p.0 as usize).collect();
        let mut owner = vec![0; program.mesh.processors() as usize];
        let mut wanted: Vec<(Vec<usize>, usize)> = Vec::new();
        let mut seen: BTreeMap<(Vec<usize>, usize), usize> = BTreeMap::new();
        for group in program.mesh.groups(&collective.axes) {
            let members: Vec<usize> = group.iter().map(|p| p.0 as usize).collect();
            if here.binary_search(&members[0]).is_err() {
                continue;
            }
            let slices = members.iter().map(|&p| self.at(input)[p].as_ref());
            let addresses: Vec<usize> =
                slices.map(|s| s.map_or(0, |s| Arc::as_ptr(s).addr())).collect();
            let elements = self.at(input)[members[0]].as_ref().map_or(0, |s| s.len());
            let n = members.len() as u64;
            self.counted.messages += if begins { collective.messages_of_group(n) } else { 0 };
            self.counted.bytes += collective.sent_by_group(n, elements as u64) * T::BYTES;
            for (m, &p) in members.iter().enumerate() {
                let me = if collective.result_is_shared() { 0 } else { m };
                let next = wanted.len();
                let index = *seen.entry((addresses.clone(), me)).or_insert(next);
                if index == next {
                    wanted.push((members.clone(), me));
                }
                owner[p] = index;
            }
        }
        let length = program.slice_elements(output) as usize;
        let mut results: Vec<Buffer<T>> =
            wanted.iter().map(|_| self.common.buffers.take(length)).collect();
        let slices: Vec<Vec<&[T]>> = wanted
            .iter()
            .map(|(members, _)| members.iter().map(|&p| self.held(input, p)).collect())
            .collect();
        let operations = (length * wanted.len() * slices.first().map_or(1, Vec::len)) as u64;
        self.spread(operations, chunks(&mut results, TASK), |(i, start, part)| {
            let slices = &slices[i];
            let part = Part { me: wanted[i].1, start, out: part };
            match combine {
                Combine::Sum => collective.apply(slices, &sizes, part, |a, b| a + b, T::from_f64),
                Combine::Max => collective.apply(slices, &sizes, part, T::greater, T::from_f64),
                Combine::Min => collective.apply(slices, &sizes, part, T::lesser, T::from_f64),
            }
        });
        drop(slices);
        let owner: Vec<usize> = here.into_iter().map(|p| owner[p]).collect();
        self.store(output, results, &owner);
    }
}
