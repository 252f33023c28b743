//! Golden pictures: each scene drawn as SVG equals its file in `tests/pictures`, byte for byte.
//!
//! `MESHWORK_BLESS=1` writes the files instead; look at what changed before you commit it.
#![expect(clippy::disallowed_methods, reason = "the test reads and writes its golden files")]

use crate::say::{self, mesh, tensor};
use meshwork_engine::picture::curve::{self, Chart, Series};
use meshwork_engine::picture::mesh as mesh_picture;
use meshwork_engine::picture::scene::Scene;
use meshwork_engine::picture::sheet::compose;
use meshwork_engine::picture::svg::{Colours, Style, draw};
use meshwork_engine::picture::tensor::Sliced;

pub(crate) fn check_in(colours: Colours, file: &str, scene: &Scene) {
    let path = format!("{}/tests/pictures/{file}", env!("CARGO_MANIFEST_DIR"));
    let style = Style { colours, ..Style::default() };
    let svg = draw(scene, &style);
    if std::env::var("MESHWORK_BLESS").is_ok_and(|v| v == "1") {
        std::fs::write(&path, &svg).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == svg, "{file} differs from what is drawn now; see the head of this test");
}

pub(crate) fn check(file: &str, scene: &Scene) {
    check_in(Colours::Light, file, scene);
}

fn mesh_of(text: &str) -> Scene {
    mesh_picture::scene(&mesh(text))
}

/// All tensors of the two-layer example on one sheet.
fn two_layer(title: &str, by: &str, on: &str) -> Scene {
    let tensors = [
        ("x", "batch:8 io:4"),
        ("w", "io:4 hidden:8"),
        ("bias", "hidden:8"),
        ("h", "batch:8 hidden:8"),
        ("v", "hidden:8 io:4"),
        ("y", "batch:8 io:4"),
        ("target", "batch:8 io:4"),
        ("loss", ""),
    ];
    let scenes = tensors.map(|(name, dims)| {
        // Rules of dimensions that a tensor lacks have no effect on it.
        tensor(name, dims, by, &[], on)
    });
    let mut all = vec![mesh_of(on)];
    all.extend(scenes);
    compose(title, &all, 3)
}

#[test]
fn figures() {
    check_in(Colours::Preferred, "figure-0.svg", &two_layer("The empty layout", "", "all:4"));
    let two = two_layer("Figure 2: data parallel", "batch:all", "all:2");
    check_in(Colours::Preferred, "figure-2.svg", &two);
    let three = two_layer("Figure 3: model parallel", "hidden:all", "all:2");
    check_in(Colours::Preferred, "figure-3.svg", &three);
    let four = two_layer("Figure 4: mixed", "batch:rows hidden:cols", "rows:2 cols:2");
    check_in(Colours::Preferred, "figure-4.svg", &four);
    let by = "batch:rows hidden:cols io:planes";
    let five = two_layer("Figure 5: mixed over three", by, "rows:2 cols:2 planes:2");
    check_in(Colours::Preferred, "figure-5.svg", &five);
    check_in(Colours::Dark, "figure-5-dark.svg", &five);
}

#[test]
fn meshes() {
    check("mesh-0d.svg", &mesh_of(""));
    check("mesh-1d.svg", &mesh_of("all:8"));
    check("mesh-1d-wrapped.svg", &mesh_of("all:30"));
    check("mesh-2d.svg", &mesh_of("rows:2 cols:3"));
    check("mesh-3d.svg", &mesh_of("rows:2 cols:2 planes:2"));
    check("mesh-3d-64.svg", &mesh_of("rows:4 cols:4 planes:4"));
    check("mesh-4d.svg", &mesh_of("pods:2 rows:2 cols:3 planes:2"));
    check("mesh-2d-64.svg", &mesh_of("rows:8 cols:8"));
    check_in(Colours::Dark, "mesh-2d-64-dark.svg", &mesh_of("rows:8 cols:8"));
    check("mesh-3d-512.svg", &mesh_of("pods:8 rows:8 cols:8"));
    check("mesh-1d-1000.svg", &mesh_of("all:1000"));
    check("mesh-2d-16384.svg", &mesh_of("data:256 model:64"));
}

#[test]
fn tensors() {
    check("cell.svg", &tensor("loss", "", "", &[], "rows:2 cols:2"));
    check("strip.svg", &tensor("bias", "hidden:8", "hidden:cols", &[], "rows:2 cols:2"));
    check("strip-64.svg", &tensor("bias", "hidden:4096", "hidden:all", &[], "all:64"));
    let by = "batch:rows hidden:cols";
    check("matrix-64.svg", &tensor("h", "batch:64 hidden:512", by, &[], "rows:8 cols:8"));
    check("matrix-tall.svg", &tensor("x", "batch:64 io:16", "batch:all", &[], "all:64"));
    let by = "batch:data hidden:model";
    check("matrix-capped.svg", &tensor("h", "batch:512 hidden:4096", by, &[], "data:128 model:64"));
    check("box-whole.svg", &tensor("e", "batch:8 length:16 d:32", "", &[], "rows:2 cols:2"));
    let on = "rows:2 cols:2 planes:2";
    check("box-front.svg", &tensor("e", "batch:8 length:16 d:32", "length:rows d:cols", &[], on));
    check("box-tops.svg", &tensor("e", "batch:8 length:16 d:32", "batch:rows d:cols", &[], on));
    check(
        "box-sides.svg",
        &tensor("e", "batch:8 length:16 d:32", "batch:rows length:cols", &[], on),
    );
    let by = "batch:rows length:cols d:planes";
    check("box-layers.svg", &tensor("e", "batch:8 length:16 d:32", by, &[], on));
    check(
        "box-layers-4.svg",
        &tensor("e", "batch:8 length:16 d:32", by, &[], "rows:4 cols:4 planes:4"),
    );
    check("box-tops-8.svg", &tensor("e", "batch:64 length:16 d:32", "batch:all", &[], "all:8"));
}

#[test]
fn grids_of_boxes() {
    let dims = "batch:8 heads:4 length:64 d:16";
    let on = "rows:2 cols:2";
    check("grid-4.svg", &tensor("q", dims, "batch:rows heads:cols", &[], on));
    check("grid-4-length.svg", &tensor("q", dims, "batch:rows length:cols", &[], on));
    let dims = "batch:8 experts:4 heads:4 length:64 d:16";
    let by = "batch:a experts:b heads:c length:d";
    check("grid-5.svg", &tensor("q", dims, by, &[], "a:2 b:2 c:2 d:2"));
}

#[test]
fn partial_values() {
    let dims = "batch:8 hidden:8";
    let partial = tensor("h", dims, "batch:rows", &["cols"], "rows:2 cols:2");
    check("partial.svg", &partial);
    check_in(Colours::Dark, "partial-dark.svg", &partial);
    let dims = "batch:8 length:16 d:32";
    let partial = tensor("e", dims, "batch:rows", &["cols", "planes"], "rows:2 cols:2 planes:2");
    check("partial-box.svg", &partial);
}

#[test]
fn curves() {
    let curve = |name: &str, rate: f64, n: u32| Series {
        name: name.to_owned(),
        points: (0..n).map(|i| (f64::from(i), (-f64::from(i) * rate).exp())).collect(),
    };
    let near = [curve("4 processors", 0.02, 60), curve("1 processor", 0.0201, 60)];
    check("curve.svg", &curve::scene(&near, &Chart::new("Loss", "step", "loss")));
    let far = [curve("adam", 0.04, 200), curve("sgd", 0.01, 150), curve("momentum", 0.025, 200)];
    check("curve-log.svg", &curve::scene(&far, &Chart::new("Loss", "step", "loss")));
    check_in(
        Colours::Dark,
        "curve-log-dark.svg",
        &curve::scene(&far, &Chart::new("Loss", "step", "loss")),
    );
}

#[test]
fn titles_and_descriptions_say_what_is_drawn() {
    let scene = tensor("w", "io:4 hidden:8", "hidden:cols", &[], "rows:2 cols:2");
    assert_eq!(scene.title, "w[io:4 hidden:8], split by hidden over cols");
    assert_eq!(
        scene.description,
        "Tensor w[io:4 hidden:8] on the 4 processors of the mesh rows:2 cols:2. It is split by \
         hidden over cols into 2 slices [io:4 hidden:4], each on 2 processors. Processors along \
         rows hold the same."
    );
    let tips: Vec<&str> = scene.marks.iter().filter_map(|m| m.tip.as_deref()).collect();
    assert_eq!(tips[0], "slice [0..4, 0..4] of w on processors 0, 2");

    let capped = tensor("h", "a:128 b:64", "a:x b:y", &[], "x:128 y:64");
    assert!(
        capped.description.contains("Of the 128 blocks along a, 0–14 and 127 are drawn."),
        "{}",
        capped.description
    );
    // A sum over a mesh dimension that now splits the tensor has been settled.
    let settled = tensor("h", "batch:8", "batch:rows", &["rows", "cols"], "rows:2 cols:2");
    assert_eq!(settled.title, "h[batch:8], split by batch over rows, sum over cols pending");

    let whole = mesh("rows:2");
    let layout = say::rules("").tensor_layout(&say::shape(""), &whole).unwrap();
    let loss = Sliced::new("loss", &say::shape(""), &layout, &whole).scene();
    assert_eq!(loss.title, "loss[], whole");
}
