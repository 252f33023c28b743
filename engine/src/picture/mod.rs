//! Pictures as data: geometry here, drawing in one place each (SVG text, the studio).

pub mod scene;
pub mod geometry;
pub mod palette;
mod words;
mod elide;
mod draft;
pub mod mesh;
pub mod tensor;
pub mod curve;
pub mod timeline;
pub mod sheet;
pub mod svg;
