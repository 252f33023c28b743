//! What is wrong with the numbers of a pipeline, and the nearest that are not. That is known only when
//! the model is built: it takes the layers to cut and the rows of the batch.

use super::numbers::Numbers;
use super::pipe::{Pipe, listed};
use crate::diag::{Code, Diagnostic, Hint};
use crate::graph::Graph;
use crate::graph::build::micro::counted;
use crate::graph::train::report_beyond;
use crate::layout::dims::Shape;
use crate::pipeline::order::Extent;
use crate::pipeline::schedule::limit::{Limit, Quantity};

impl Pipe {
    /// Whether the numbers are those that its schedule takes.
    pub(super) fn is_legal(&self) -> bool {
        self.said.beyond.is_none() && self.schedule.limits(self.extent).is_empty()
    }

    /// Every number that breaks a limit; `is_built` says whether the graph is the whole model.
    pub(super) fn problems(&self, graph: &Graph, is_built: bool) -> Vec<Diagnostic> {
        let numbers = self.numbers(graph, is_built);
        let mut limits = self.schedule.limits(self.extent);
        // Too many stages may be too many of each cell.
        let has_chunks = limits.iter().all(|limit| limit.what != Quantity::Chunks);
        let is_cut = self.balance.is_none() && !graph.layers.is_empty() && has_chunks;
        let beyond = self.said.beyond.map(|_| self.beyond(&numbers));
        let is_too_long = is_cut && !numbers.has_layers();
        let (too_long, is_only) = if is_too_long {
            let (problem, mends_all) = self.too_many_stages(graph, &numbers);
            (Some(problem), mends_all)
        } else {
            (None, false)
        };
        limits.retain(|limit| match limit.what {
            Quantity::MicroBatches => beyond.is_none() && !is_only,
            Quantity::Ranks => !is_too_long,
            Quantity::Chunks => true,
        });
        let limits = limits.iter().map(|limit| self.broken(limit, graph, &numbers));
        beyond.into_iter().chain(too_long).chain(limits).collect()
    }

    fn numbers(&self, graph: &Graph, is_built: bool) -> Numbers {
        let dim = self.cutting().dim;
        let cut = graph.micro.as_ref().filter(|micro| micro.dim == dim);
        let whole = || {
            let mut dims = graph.shapes().iter().flat_map(Shape::dims);
            dims.find(|d| d.name == dim).map(|d| d.size)
        };
        Numbers {
            schedule: self.schedule,
            extent: self.extent,
            follows_cells: self.said.micro_batches.is_none(),
            layers: is_built.then_some(graph.layers.len() as u64),
            rows: cut.map(|micro| micro.whole).or_else(whole),
            parts: self.parts,
        }
    }

    /// A number that the schedule cannot take.
    fn broken(&self, limit: &Limit, graph: &Graph, numbers: &Numbers) -> Diagnostic {
        let place = self.said.place(limit.what).unwrap_or(self.span);
        let message = format!("`{}`: {limit}", self.schedule.name());
        let d = Diagnostic::error(Code::Pipeline, place, message);
        self.with_nearest(d, limit.what, f64::from(limit.given), graph, numbers)
    }

    /// A number of micro-batches that none has.
    fn beyond(&self, numbers: &Numbers) -> Diagnostic {
        let (given, place) = self.said.beyond.unwrap_or_default();
        let nearest = numbers.nearest(Quantity::MicroBatches, given).into_iter().map(u64::from);
        let d = report_beyond(place, &nearest.collect::<Vec<u64>>());
        let usual = self.schedule.limits(numbers.made(self.extent)).is_empty();
        match self.said.micro_batches.filter(|_| usual) {
            Some(option) => d.hint(Hint::edit("Leave `micro_batches` out.", option, "")),
            None if d.hints.is_empty() => d.hint(self.other_rows(numbers)),
            None => d,
        }
    }

    fn with_nearest(
        &self,
        d: Diagnostic,
        what: Quantity,
        given: f64,
        graph: &Graph,
        numbers: &Numbers,
    ) -> Diagnostic {
        let nearest = numbers.nearest(what, given);
        if nearest.is_empty() {
            return match what {
                Quantity::MicroBatches => d.hint(self.other_rows(numbers)),
                Quantity::Ranks => d.hint(listed(graph)),
                Quantity::Chunks => {
                    let usual = self.said.chunks.map(|option| {
                        let n = counted(self.schedule.default_chunks().into(), "stage");
                        let name = self.schedule.name();
                        let text = format!("Leave `chunks` out: `{name}` has {n} on each cell.");
                        Hint::edit(text, option, "")
                    });
                    usual.into_iter().fold(d, Diagnostic::hint).hint(listed(graph))
                }
            };
        }
        nearest.iter().fold(d, |d, &n| {
            let text = match what {
                Quantity::Ranks => format!("Take {}.", counted(n.into(), "cell")),
                Quantity::MicroBatches | Quantity::Chunks => format!("Take {n}."),
            };
            d.hint(self.said.take(what, n, text))
        })
    }

    /// Rows for a number of micro-batches that the schedule takes.
    fn other_rows(&self, numbers: &Numbers) -> Hint {
        let is_legal = |count: u64| {
            let micro_batches = u32::try_from(count).unwrap_or(u32::MAX);
            let extent = Extent { micro_batches, ..self.extent };
            self.schedule.limits(extent).iter().all(|limit| limit.what != Quantity::MicroBatches)
        };
        self.cutting().other_rows(numbers.rows.unwrap_or(1), is_legal)
    }

    /// More stages than layers: fewer cells, or fewer stages in each; and whether these mend all.
    fn too_many_stages(&self, graph: &Graph, numbers: &Numbers) -> (Diagnostic, bool) {
        let layers = graph.layers.len() as u64;
        let (stages, chunks) = (self.extent.stages(), self.extent.chunks);
        let message = format!(
            "The model cannot be cut into {stages} stages: it has {}",
            counted(layers, "layer")
        );
        let mut d = Diagnostic::error(Code::Pipeline, self.span, message);
        let each = match chunks {
            1 => String::new(),
            _ => format!(", as `{}` has {chunks} stages in each", self.schedule.name()),
        };
        let given = [(Quantity::Ranks, self.extent.ranks), (Quantity::Chunks, chunks)];
        let mut near = given.map(|(what, n)| numbers.legal(what, n.into()));
        let mends_all = near.iter().any(|near| !near.is_empty());
        if !mends_all {
            near = given.map(|(what, n)| numbers.nearest(what, n.into()));
        }
        let [cells, fewer] = near;
        for &n in &cells {
            let text = format!("Take {}{each}.", counted(n.into(), "cell"));
            d = d.hint(self.said.take(Quantity::Ranks, n, text));
        }
        for &n in fewer.iter().filter(|_| chunks > 1) {
            let text = format!("Have {} on each cell.", counted(n.into(), "stage"));
            d = d.hint(self.said.take(Quantity::Chunks, n, text));
        }
        if d.hints.is_empty() {
            d = d.hint(Hint::edit("Leave the pipeline out.", self.span, ""));
        }
        (d.hint(listed(graph)), mends_all)
    }
}
