//! Tables: rows of features and a target.

/// A table of numbers: features, and one target column at the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Names of the columns; the last is the target.
    pub columns: Vec<String>,
    /// Row-major numbers, as many per row as there are columns.
    pub rows: Vec<f64>,
    /// What the target column holds.
    pub target: Target,
}

/// What a table's target column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A number to predict.
    Number,
    /// The index of a class; the classes' names.
    Classes(Vec<String>),
}

impl Table {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len() / self.columns.len().max(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
