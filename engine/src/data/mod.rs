//! Data for training: tables of rows, texts, and a synthetic teacher.
//!
//! A table's columns are standardised (mean 0, deviation 1, over the training part), a fifth of the
//! rows is held out for validation, and every epoch takes the rest in another order. A text becomes
//! ids of tokens; a tenth of it is held out. The engine reads no files: data is an argument.
//!
//! ```text
//!   Wiring: which inputs are fed, what is compared      known from the graph
//!   fits: whether data goes with it                     known from the sizes of both
//!   Feed: the numbers themselves, batch by batch
//!   Score: what outputs on the part held out come to
//! ```

pub mod places;
pub mod vocabulary;
pub mod table;
pub mod text;
pub mod bleu;
pub mod wiring;
pub mod score;
pub mod fits;
pub mod feed;

use table::Table;
use text::Text;

/// Data, as whoever runs a study has it at hand.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Rows of features and a target.
    Table(Table),
    /// A text, or lines of pairs: what it is taken for depends on the study's inputs.
    Text(Text),
}

impl Data {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Table(table) => &table.name,
            Self::Text(text) => &text.name,
        }
    }
}
