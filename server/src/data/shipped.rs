//! The tables that ship with Meshwork, from the crate `linfa-datasets`.

use super::hash::table_hash;
use super::{Table, Target};
use std::sync::LazyLock;

/// A table that ships.
#[derive(Debug)]
pub struct Shipped {
    /// The table.
    pub table: Table,
    /// Its content hash.
    pub hash: String,
    /// What it is about, with its source.
    pub about: &'static str,
}

/// Every table that ships, in the order they are listed.
pub static ALL: LazyLock<Vec<Shipped>> =
    LazyLock::new(|| vec![iris(), diabetes(), wine(), wine_classes()]);

/// The shipped table of this name.
pub fn find(name: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|s| s.table.name == name)
}

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
    let table = Table { name: name.to_owned(), columns, rows, target };
    Shipped { hash: table_hash(&table), table, about }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_whole() {
        let sizes = [("iris", 150, 4), ("diabetes", 441, 10), ("winequality", 1599, 11)];
        for (name, rows, features) in sizes {
            let t = &find(name).unwrap().table;
            assert_eq!(t.columns.len(), features + 1, "{name}");
            assert_eq!(t.rows.len(), rows * t.columns.len(), "{name}");
            assert!(t.rows.iter().all(|v| v.is_finite()), "{name}");
        }
    }

    #[test]
    fn classes_count_from_zero_and_all_occur() {
        for shipped in ALL.iter() {
            let Target::Classes(names) = &shipped.table.target else { continue };
            let width = shipped.table.columns.len();
            let mut seen = vec![0; names.len()];
            for row in shipped.table.rows.chunks(width) {
                seen[row[width - 1] as usize] += 1;
            }
            assert!(seen.iter().all(|&n| n > 0), "{}: {seen:?}", shipped.table.name);
        }
        let iris = &find("iris").unwrap().table;
        assert_eq!(iris.rows[..5], [5.1, 3.5, 1.4, 0.2, 0.0], "the first flower is a setosa");
    }
}
