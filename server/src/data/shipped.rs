//! What ships with Meshwork: tables from the crate `linfa-datasets`, Meshwork's own sources as a
//! text, and pairs of numbers and their names.

use super::hash::data_hash;
use super::{Data, Table, Target, numerals};
use meshwork_engine::data::text::Text;
use meshwork_engine::data::vocabulary::Vocabulary;
use std::sync::LazyLock;

/// Data that ships.
#[derive(Debug)]
pub struct Shipped {
    /// The data.
    pub data: Data,
    /// Its content hash.
    pub hash: String,
    /// What it is about, with its source.
    pub about: &'static str,
}

/// All that ships, in the order in which it is listed.
pub static ALL: LazyLock<Vec<Shipped>> = LazyLock::new(|| {
    let sources = text("sources", SOURCES_TEXT, SOURCES);
    let numerals = text("numerals", &numerals::pairs(), NUMERALS);
    vec![iris(), diabetes(), wine(), wine_classes(), sources, numerals]
});

/// What ships under this name.
pub fn find(name: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|s| s.data.name() == name)
}

/// Meshwork's sources, one file after another, as they were when this was built.
const SOURCES_TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/sources.txt"));
const SOURCES: &str = "The sources of this Meshwork: Rust and its documentation.";
const NUMERALS: &str =
    "Pairs to translate: the numbers from 0 to 1999 in digits, a tab, and in English words.";

const IRIS: &str = "Iris flowers: four measurements in centimetres, three species (Fisher 1936).";
const DIABETES: &str = "Diabetes patients: ten standardised measurements, the progress of the \
                        disease one year later (Efron, Hastie, Johnstone, Tibshirani 2004).";
const WINE: &str = "Red Vinho Verde: eleven physicochemical measurements, the quality from 3 to 8 \
                    as a number (Cortez et al. 2009).";
const WINE_CLASSES: &str = "Red Vinho Verde: the same as winequality, the quality as one of six \
                            classes.";
const IRIS_COLUMNS: [&str; 5] =
    ["sepal_length", "sepal_width", "petal_length", "petal_width", "species"];
// The names of the paper; the crate calls s1–s6 otherwise.
const DIABETES_COLUMNS: [&str; 11] =
    ["age", "sex", "bmi", "map", "tc", "ldl", "hdl", "tch", "ltg", "glu", "progression"];
const WINE_COLUMNS: [&str; 12] = [
    "fixed_acidity",
    "volatile_acidity",
    "citric_acid",
    "residual_sugar",
    "chlorides",
    "free_sulfur_dioxide",
    "total_sulfur_dioxide",
    "density",
    "ph",
    "sulphates",
    "alcohol",
    "quality",
];

fn iris() -> Shipped {
    let data = linfa_datasets::iris();
    let rows = data.records.rows().into_iter().zip(&data.targets);
    let rows = rows.flat_map(|(x, &y)| x.to_vec().into_iter().chain([y as f64])).collect();
    let target = Target::Classes(names(["setosa", "versicolor", "virginica"]));
    shipped("iris", &IRIS_COLUMNS, rows, target, IRIS)
}

fn diabetes() -> Shipped {
    let data = linfa_datasets::diabetes();
    let rows = data.records.rows().into_iter().zip(&data.targets);
    let rows = rows.flat_map(|(x, &y)| x.to_vec().into_iter().chain([y])).collect();
    shipped("diabetes", &DIABETES_COLUMNS, rows, Target::Number, DIABETES)
}

fn wine() -> Shipped {
    shipped("winequality", &WINE_COLUMNS, wine_rows(0.0), Target::Number, WINE)
}

fn wine_classes() -> Shipped {
    let target = Target::Classes(names(["3", "4", "5", "6", "7", "8"]));
    shipped("winequality-classes", &WINE_COLUMNS, wine_rows(3.0), target, WINE_CLASSES)
}

/// The wines with the number `lowest` taken from their quality.
fn wine_rows(lowest: f64) -> Vec<f64> {
    let data = linfa_datasets::winequality();
    let rows = data.records.rows().into_iter().zip(&data.targets);
    rows.flat_map(|(x, &y)| x.to_vec().into_iter().chain([y as f64 - lowest])).collect()
}

fn names<const N: usize>(names: [&str; N]) -> Vec<String> {
    names.map(str::to_owned).to_vec()
}

fn shipped(
    name: &str,
    columns: &[&str],
    rows: Vec<f64>,
    target: Target,
    about: &'static str,
) -> Shipped {
    let columns = columns.iter().map(|&c| c.to_owned()).collect();
    let data = Data::Table(Table { name: name.to_owned(), columns, rows, target });
    Shipped { hash: data_hash(&data), data, about }
}

fn text(name: &str, text: &str, about: &'static str) -> Shipped {
    let text = Text { name: name.to_owned(), text: text.into(), vocabulary: Vocabulary::default() };
    let data = Data::Text(text);
    Shipped { hash: data_hash(&data), data, about }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(shipped: &Shipped) -> Option<&Table> {
        match &shipped.data {
            Data::Table(table) => Some(table),
            Data::Text(_) => None,
        }
    }

    #[test]
    fn the_tables_are_whole() {
        let sizes = [("iris", 150, 4), ("diabetes", 441, 10), ("winequality", 1599, 11)];
        for (name, rows, features) in sizes {
            let t = table(find(name).unwrap()).unwrap();
            assert_eq!(t.columns.len(), features + 1, "{name}");
            assert_eq!(t.rows.len(), rows * t.columns.len(), "{name}");
            assert!(t.rows.iter().all(|v| v.is_finite()), "{name}");
        }
    }

    #[test]
    fn the_sources_are_those_of_the_project() {
        for part in ["//! The engine of Meshwork", "pub fn the_sources", "# Meshwork"] {
            assert!(SOURCES_TEXT.contains(&part.replace("pub fn the", "fn the")), "{part}");
        }
        assert!(SOURCES_TEXT.len() > 1 << 20 && !SOURCES_TEXT.contains('\0'));
    }

    #[test]
    fn classes_count_from_zero_and_all_occur() {
        for table in ALL.iter().filter_map(table) {
            let Target::Classes(names) = &table.target else { continue };
            let width = table.columns.len();
            let mut seen = vec![0; names.len()];
            for row in table.rows.chunks(width) {
                seen[row[width - 1] as usize] += 1;
            }
            assert!(seen.iter().all(|&n| n > 0), "{}: {seen:?}", table.name);
        }
        let iris = table(find("iris").unwrap()).unwrap();
        assert_eq!(iris.rows[..5], [5.1, 3.5, 1.4, 0.2, 0.0], "the first flower is a setosa");
    }
}
