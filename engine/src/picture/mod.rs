//! Pictures as data: geometry here, drawing in one place each (SVG text, the studio).

pub mod scene;
