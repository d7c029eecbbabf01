//! Tables in Arrow's layout: columns of numbers, bits, text, and words of a short list (a
//! dictionary). [`capsules`] hands them over, and who reads them copies nothing. A library for it
//! (`arrow`) would bring six crates and a minute of compiling.

mod capsules;

use crate::error::Trouble;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::{CStr, c_void};
use std::ptr::null;
use std::sync::Arc;

/// A column of one batch.
#[derive(Debug)]
pub enum Column {
    /// 64 bits, signed.
    I64(Vec<i64>),
    /// 32 bits, signed.
    I32(Vec<i32>),
    /// Doubles.
    F64(Vec<f64>),
    /// Bits, the lowest first, and how many of a last byte are used by the length of the batch.
    Bits(Vec<u8>),
    /// Text: where each begins, and the end of the last; the bytes.
    Text(Vec<i32>, Vec<u8>),
    /// Words of a list, by their place in it.
    Word(Vec<u8>),
    /// Numbers, some of which are not known: a bit for each that is.
    MaybeF64(Vec<f64>, Vec<u8>),
    /// Whole numbers, likewise.
    MaybeI64(Vec<i64>, Vec<u8>),
}

impl Column {
    /// Text from rows.
    pub fn text<'a>(rows: impl Iterator<Item = &'a str>) -> Self {
        let (mut ends, mut bytes) = (vec![0], Vec::new());
        for row in rows {
            bytes.extend_from_slice(row.as_bytes());
            ends.push(bytes.len() as i32);
        }
        Self::Text(ends, bytes)
    }

    /// Bits from rows.
    pub fn bits(rows: impl Iterator<Item = bool>) -> Self {
        Self::Bits(bits(rows))
    }

    /// Whole numbers, some of which are not known.
    pub fn maybe_i64(rows: impl Iterator<Item = Option<i64>> + Clone) -> Self {
        Self::MaybeI64(rows.clone().map(Option::unwrap_or_default).collect(), known(rows))
    }

    /// Numbers, some of which are not known.
    pub fn maybe_f64(rows: impl Iterator<Item = Option<f64>> + Clone) -> Self {
        Self::MaybeF64(rows.clone().map(Option::unwrap_or_default).collect(), known(rows))
    }

    fn format(&self) -> &'static CStr {
        match self {
            Self::I64(_) | Self::MaybeI64(..) => c"l",
            Self::I32(_) => c"i",
            Self::F64(_) | Self::MaybeF64(..) => c"g",
            Self::Bits(_) => c"b",
            Self::Text(..) => c"u",
            Self::Word(_) => c"C",
        }
    }

    /// The first is the validity, which may be nothing.
    fn buffers(&self) -> Vec<*const c_void> {
        fn at<T>(values: &[T]) -> *const c_void {
            values.as_ptr().cast()
        }
        match self {
            Self::I64(values) => vec![null(), at(values)],
            Self::I32(values) => vec![null(), at(values)],
            Self::F64(values) => vec![null(), at(values)],
            Self::Bits(values) | Self::Word(values) => vec![null(), at(values)],
            Self::Text(ends, bytes) => vec![null(), at(ends), at(bytes)],
            Self::MaybeF64(values, known) => vec![at(known), at(values)],
            Self::MaybeI64(values, known) => vec![at(known), at(values)],
        }
    }

    fn is_nullable(&self) -> bool {
        matches!(self, Self::MaybeF64(..) | Self::MaybeI64(..))
    }
}

fn known<T>(rows: impl Iterator<Item = Option<T>>) -> Vec<u8> {
    bits(rows.map(|row| row.is_some()))
}

fn bits(rows: impl Iterator<Item = bool>) -> Vec<u8> {
    let (mut bytes, mut byte, mut at) = (Vec::new(), 0, 0);
    for bit in rows {
        byte |= u8::from(bit) << at;
        at += 1;
        if at == 8 {
            bytes.push(byte);
            (byte, at) = (0, 0);
        }
    }
    if at > 0 {
        bytes.push(byte);
    }
    bytes
}

/// The name of a column, and the words of its list if it has one.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// The list of words.
    pub words: Vec<&'static str>,
}

impl Field {
    /// A column of values.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), words: Vec::new() }
    }

    /// A column of words.
    pub fn of_words(name: impl Into<String>, words: Vec<&'static str>) -> Self {
        Self { name: name.into(), words }
    }
}

/// A batch: its columns, and how many rows each has.
#[derive(Debug)]
pub struct Batch {
    /// In the order of the fields.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: usize,
}

/// A table in batches. `empty` is a batch without rows: it has the types.
#[derive(Debug)]
pub struct Table {
    fields: Vec<Field>,
    empty: Batch,
    batches: Vec<Batch>,
    /// Of each field with words: the dictionary.
    words: Vec<Option<Column>>,
}

impl Table {
    /// A table of these batches, the first of which, or one without rows, tells the types.
    pub fn new(fields: Vec<Field>, empty: Batch, batches: Vec<Batch>) -> Self {
        let of_words = |field: &Field| {
            let is_list = !field.words.is_empty();
            is_list.then(|| Column::text(field.words.iter().copied()))
        };
        let words = fields.iter().map(of_words).collect();
        let batches = batches.into_iter().filter(|batch| batch.rows > 0).collect();
        Self { fields, empty, batches, words }
    }

    /// Rows of all batches.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(|batch| batch.rows).sum()
    }
}

/// A table of native memory. `pandas`, `polars`, `duckdb`, `pyarrow` and every other library that
/// knows Arrow's PyCapsule interface read it without a copy.
#[pyclass(frozen, name = "Table", module = "manx._manx")]
pub struct PyTable(pub Arc<Table>);

#[pymethods]
impl PyTable {
    /// The stream of its batches; `requested_schema` is not looked at, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = requested_schema;
        capsules::of_stream(py, Arc::clone(&self.0))
    }

    /// The schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        capsules::of_schema(py, &self.0)
    }

    /// Rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.rows()
    }

    /// Names of the columns, in their order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.fields.iter().map(|field| field.name.clone()).collect()
    }

    /// A column as a list of Python values: for small tables, without any library.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (table, at) = (&self.0, self.place(name)?);
        let mut values = Vec::with_capacity(table.rows());
        for batch in &table.batches {
            for row in 0..batch.rows {
                values.push(value(py, &batch.columns[at], &table.fields[at], row)?);
            }
        }
        Ok(values)
    }

    /// A column of numbers as bytes: native, 8 (or, of 32-bit ones, 4) to a row; what is not known
    /// is 0.
    fn buffer<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let at = self.place(name)?;
        let mut bytes = Vec::new();
        for batch in &self.0.batches {
            match &batch.columns[at] {
                Column::I64(values) | Column::MaybeI64(values, _) => {
                    bytes.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
                }
                Column::F64(values) | Column::MaybeF64(values, _) => {
                    bytes.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
                }
                Column::I32(values) => {
                    bytes.extend(values.iter().flat_map(|value| value.to_ne_bytes()));
                }
                Column::Bits(_) | Column::Text(..) | Column::Word(_) => {
                    let why = format!("column {name:?} holds no numbers: column() has its values");
                    return Err(PyValueError::new_err(why));
                }
            }
        }
        Ok(PyBytes::new(py, &bytes))
    }

    fn __len__(&self) -> usize {
        self.0.rows()
    }

    fn __repr__(&self) -> String {
        format!("<manx.Table: {} rows: {}>", self.0.rows(), self.column_names().join(", "))
    }
}

impl PyTable {
    fn place(&self, name: &str) -> Result<usize, Trouble> {
        let fields = &self.0.fields;
        fields.iter().position(|field| field.name == name).ok_or_else(|| {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let there = names.join(", ");
            Trouble::Wrong(format!("no column is called {name:?}; there are {there}"))
        })
    }
}

fn value<'py>(
    py: Python<'py>,
    column: &Column,
    field: &Field,
    row: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let bit = |bits: &[u8]| bits[row / 8] >> (row % 8) & 1 == 1;
    Ok(match column {
        Column::I64(values) => values[row].into_pyobject(py)?.into_any(),
        Column::I32(values) => values[row].into_pyobject(py)?.into_any(),
        Column::F64(values) => values[row].into_pyobject(py)?.into_any(),
        Column::Bits(values) => bit(values).into_pyobject(py)?.to_owned().into_any(),
        Column::Text(ends, bytes) => {
            let text = &bytes[ends[row] as usize..ends[row + 1] as usize];
            String::from_utf8_lossy(text).into_owned().into_pyobject(py)?.into_any()
        }
        Column::Word(values) => field.words[values[row] as usize].into_pyobject(py)?.into_any(),
        Column::MaybeF64(values, known) => {
            bit(known).then(|| values[row]).into_pyobject(py)?.into_any()
        }
        Column::MaybeI64(values, known) => {
            bit(known).then(|| values[row]).into_pyobject(py)?.into_any()
        }
    })
}
