//! Windows over a split dimension, and the halo exchange before them.

use super::Lowering;
use crate::graph::op::{Edge, Window};
use crate::index::{Idx as _, MeshAxis, NodeId, TensorAxis, ValueId};
use crate::layout::dims::{Dimension, Name, Shape};
use crate::spmd::collective::{Collective, CollectiveKind};
use crate::spmd::field::Field;
use crate::spmd::program::{Frame, Value, Work};
use smallvec::smallvec;

impl Lowering<'_> {
    /// A window (or its adjoint): where the dimension is split, each processor first receives what
    /// its places read of other slices.
    pub(super) fn window(&mut self, id: NodeId, window: &Window, forward: bool) -> Option<()> {
        let node = self.graph.node(id);
        let (read, made) =
            if forward { (&window.from, &window.to) } else { (&window.to, &window.from) };
        let old = self.graph.shape(node.inputs[0]);
        let axis = old.axis(read)?;
        let size = |shape: &Shape, dim: &Name| Some(shape.dim(shape.axis(dim)?).size);
        let axes = self.plan.kinds.get(id).splits.get(read).to_vec();
        let parts = self.mesh.group_size(&axes);
        let (local, places) = (size(old, read)? / parts, size(&node.shape, made)? / parts);
        let with_window = if forward { &node.shape } else { old };
        let taps = window.taps.as_ref().map_or(Some(1), |w| size(with_window, w))?;
        let mut frame = Frame {
            axis,
            stride: window.stride,
            dilation: window.dilation,
            offset: window.offset,
            edge: window.edge,
            has_window: window.taps.is_some(),
        };
        let mut input = self.operand(id, 0)?;
        if parts > 1 {
            let field = if forward {
                Field::of_window(window, places, taps, local)
            } else {
                Field::of_unwindow(window, places, taps, local)?
            };
            // In its field, a window begins at the first position; the adjoint's places do at
            // `field.start`.
            frame.offset =
                if forward { 0 } else { window.offset + field.start * window.stride.cast_signed() };
            frame.edge = Edge::Zero;
            if !field.is_own() {
                input = self.receive(id, input, axis, field, axes)?;
            }
        }
        let work = if forward { Work::Window(frame) } else { Work::Unwindow(frame) };
        self.compute(id, work, smallvec![input]);
        Some(())
    }

    /// The slices of `from` extended to their fields along an axis.
    fn receive(
        &mut self,
        id: NodeId,
        from: ValueId,
        axis: TensorAxis,
        field: Field,
        axes: Vec<MeshAxis>,
    ) -> Option<ValueId> {
        let Value { name, shape, layout, pending, .. } = self.program.values[from].clone();
        let parts = self.mesh.group_size(&axes);
        let mut dims = shape.dims().to_vec();
        dims[axis.index()] =
            Dimension::new(Name::clone(&dims[axis.index()].name), field.length * parts);
        let shape = Shape::new(dims).ok()?;
        let Value { node, stage, varies, .. } = self.program.values[from];
        let to = self.beside(id, Value { node, name, shape, layout, pending, stage, varies });
        let collective = Collective { kind: CollectiveKind::Receive(axis, field), axes };
        let work = Work::Collective(collective);
        self.step(id, work, smallvec![from], Some(to));
        Some(to)
    }
}
