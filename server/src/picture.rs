//! The pictures of a study as SVG: one tensor, or a sheet with the mesh and every named tensor.

use meshwork_engine::diag::nearest;
use meshwork_engine::export::trace::chrome_trace;
use meshwork_engine::graph::op::Role;
use meshwork_engine::picture::scene::Scene;
use meshwork_engine::picture::svg::{Style, draw};
use meshwork_engine::picture::tensor::Sliced;
use meshwork_engine::picture::{mesh, sheet};
use meshwork_engine::study::{Study, TensorInfo};
use meshwork_engine::timeline::Timeline;

pub use meshwork_engine::picture::svg::Colours;

/// Pictures beside each other on a sheet.
const COLUMNS: usize = 3;

/// What is drawn of a study.
#[derive(Debug, Clone, Copy)]
pub enum What<'a> {
    /// The mesh and all named tensors.
    All,
    /// One tensor.
    Tensor(&'a str),
    /// Which cell of its pipeline does what when.
    Timeline,
}

/// A picture of a study. The error says which tensor is unknown, or that there is no pipeline.
pub fn svg(study: &Study, what: What<'_>, colours: Colours) -> Result<String, String> {
    let scene = match what {
        What::Tensor(name) => tensor_scene(study, name)?,
        What::Timeline => study.timeline_scene().ok_or_else(no_pipeline)?,
        What::All => sheet(study),
    };
    Ok(draw(&scene, &Style { colours, ..Style::default() }))
}

/// What the cells of a study did, measured in seconds, as a picture.
pub fn measured(study: &Study, timeline: &Timeline) -> Result<String, String> {
    let scene = study.measured_scene(timeline).ok_or_else(no_pipeline)?;
    Ok(draw(&scene, &Style::default()))
}

/// The timeline that is predicted of a study, as a Chrome trace. A gigaflop is drawn as a second.
pub fn trace(study: &Study) -> Result<String, String> {
    let timeline = study.timeline().ok_or_else(no_pipeline)?;
    Ok(chrome_trace(&timeline, "predicted (a billion operations as a second)", 1e-3))
}

/// Says that a study has no timeline.
pub fn no_pipeline() -> String {
    "the study has no pipeline: `pipeline over:MESH_DIMENSION` makes one".to_owned()
}

fn sheet(study: &Study) -> Scene {
    let tensors = study.tensors();
    let named = tensors.iter().filter(|t| t.is_named);
    let mut scenes = vec![mesh::scene(study.mesh())];
    scenes.extend(study.timeline_scene());
    scenes.extend(named.filter_map(|t| scene(study, t)));
    sheet::compose("The mesh and the tensors of the study", &scenes, COLUMNS)
}

fn tensor_scene(study: &Study, name: &str) -> Result<Scene, String> {
    let tensors = study.tensors();
    let found = tensors.iter().find(|t| &*t.name == name).ok_or_else(|| unknown(&tensors, name))?;
    scene(study, found).ok_or_else(|| format!("the tensor `{name}` has no legal layout"))
}

fn scene(study: &Study, info: &TensorInfo) -> Option<Scene> {
    let layout = info.layout.as_ref()?;
    let sliced = Sliced::new(&info.name, &info.shape, layout, study.mesh());
    let cells = info.cells.as_ref().map(|(axis, ranks)| (*axis, &ranks[..]));
    Some(Sliced { partial: &info.partial, cells, ..sliced }.scene())
}

/// Says that a study has no such tensor, and which one may have been meant.
pub fn unknown(tensors: &[TensorInfo], name: &str) -> String {
    let trained = name
        .strip_prefix("grad/")
        .and_then(|of| tensors.iter().find(|t| &*t.name == of && t.role == Role::Parameter));
    if let Some(parameter) = trained {
        let name = &parameter.name;
        return format!(
            "there is no `grad/{name}`: no gradient is made without `train`, nor where the loss has no slope along `{name}`"
        );
    }
    let hint = match nearest(name, tensors.iter().map(|t| &*t.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let named = tensors.iter().filter(|t| t.is_named).map(|t| &*t.name);
            format!("it has {}", named.collect::<Vec<_>>().join(", "))
        }
    };
    format!("the study has no tensor `{name}`; {hint}")
}
