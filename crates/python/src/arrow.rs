//! Tables for Arrow's C data interface, handed over by PyCapsules: who reads them copies nothing.
//!
//! Source: the Arrow specification, "The Arrow C data interface", "The Arrow C stream interface"
//! and "The Arrow PyCapsule Interface". Only what these tables have is here: numbers, bits, text,
//! and words of a short list (a dictionary). A library for it (`arrow`) would bring six crates and
//! a minute of compiling.
//!
//! Safety: every exported structure owns a share of its table (`Arc`), which its `release` gives
//! back. The consumer moves the structure and calls `release` once, as the specification has it.

use crate::error::Trouble;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
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
    /// The same of whole numbers.
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
    let mut bytes = Vec::new();
    for (at, bit) in rows.enumerate() {
        if at % 8 == 0 {
            bytes.push(0);
        }
        if let Some(byte) = bytes.last_mut() {
            *byte |= u8::from(bit) << (at % 8);
        }
    }
    bytes
}

/// What a column is called, and the words of its list if it has one.
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
        let stream = stream(Arc::clone(&self.0));
        // SAFETY: the structure is the stream's, the destructor that of streams.
        unsafe { capsule(py, stream, c"arrow_array_stream", drop_stream) }
    }

    /// The schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the structure is a schema, the destructor that of schemas.
        unsafe { capsule(py, schema(&self.0), c"arrow_schema", drop_schema) }
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

const NULLABLE: i64 = 2;

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// What a schema points at.
struct OfSchema {
    _name: CString,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

/// What an array points at.
struct OfArray {
    _table: Arc<Table>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    dictionary: *mut ArrowArray,
}

/// A stream under way.
struct OfStream {
    table: Arc<Table>,
    next: usize,
}

fn schema(table: &Table) -> ArrowSchema {
    let children = table.fields.iter().zip(&table.empty.columns).map(|(field, column)| {
        let dictionary = if field.words.is_empty() {
            null_mut()
        } else {
            Box::into_raw(Box::new(schema_of(c"u", "", 0, Vec::new(), null_mut())))
        };
        let flags = if column.is_nullable() { NULLABLE } else { 0 };
        let schema = schema_of(column.format(), &field.name, flags, Vec::new(), dictionary);
        Box::into_raw(Box::new(schema))
    });
    schema_of(c"+s", "", 0, children.collect(), null_mut())
}

fn schema_of(
    format: &'static CStr,
    name: &str,
    flags: i64,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
) -> ArrowSchema {
    let name = CString::new(name.replace('\0', " ")).unwrap_or_default();
    let mut of = Box::new(OfSchema { _name: name, children, dictionary });
    ArrowSchema {
        format: format.as_ptr(),
        name: of._name.as_ptr(),
        metadata: null(),
        flags,
        n_children: of.children.len() as i64,
        children: of.children.as_mut_ptr(),
        dictionary,
        release: Some(release_schema),
        private_data: Box::into_raw(of).cast(),
    }
}

fn array(table: &Arc<Table>, batch: &Batch) -> ArrowArray {
    let children = batch.columns.iter().zip(&table.words).map(|(column, words)| {
        let dictionary = match words {
            Some(words) => Box::into_raw(Box::new(array_of(table, words, usize::MAX, null_mut()))),
            None => null_mut(),
        };
        Box::into_raw(Box::new(array_of(table, column, batch.rows, dictionary)))
    });
    let of = OfArray {
        _table: Arc::clone(table),
        buffers: vec![null()],
        children: children.collect(),
        dictionary: null_mut(),
    };
    array_from(of, batch.rows, 0)
}

fn array_of(
    table: &Arc<Table>,
    column: &Column,
    rows: usize,
    dictionary: *mut ArrowArray,
) -> ArrowArray {
    let rows = match column {
        // A dictionary is as long as its list.
        Column::Text(ends, _) if rows == usize::MAX => ends.len() - 1,
        _ => rows,
    };
    let buffers = column.buffers();
    // -1: the consumer counts, if it wants to know.
    let nulls = if column.is_nullable() { -1 } else { 0 };
    let table = Arc::clone(table);
    array_from(OfArray { _table: table, buffers, children: Vec::new(), dictionary }, rows, nulls)
}

fn array_from(of: OfArray, rows: usize, null_count: i64) -> ArrowArray {
    let mut of = Box::new(of);
    ArrowArray {
        length: rows as i64,
        null_count,
        offset: 0,
        n_buffers: of.buffers.len() as i64,
        n_children: of.children.len() as i64,
        buffers: of.buffers.as_mut_ptr(),
        children: of.children.as_mut_ptr(),
        dictionary: of.dictionary,
        release: Some(release_array),
        private_data: Box::into_raw(of).cast(),
    }
}

fn stream(table: Arc<Table>) -> ArrowArrayStream {
    ArrowArrayStream {
        get_schema: Some(stream_schema),
        get_next: Some(stream_next),
        get_last_error: Some(stream_error),
        release: Some(release_stream),
        private_data: Box::into_raw(Box::new(OfStream { table, next: 0 })).cast(),
    }
}

unsafe extern "C" fn stream_schema(stream: *mut ArrowArrayStream, out: *mut ArrowSchema) -> c_int {
    // SAFETY: the consumer hands back the stream that it got, and a place for the schema.
    unsafe {
        let of = (*stream).private_data.cast::<OfStream>();
        out.write(schema(&(*of).table));
    }
    0
}

unsafe extern "C" fn stream_next(stream: *mut ArrowArrayStream, out: *mut ArrowArray) -> c_int {
    // SAFETY: as above; one consumer at a time calls it.
    unsafe {
        let of = &mut *(*stream).private_data.cast::<OfStream>();
        match of.table.batches.get(of.next) {
            Some(batch) => out.write(array(&of.table, batch)),
            // The end: a structure that is released.
            None => out.write_bytes(0, 1),
        }
        of.next += 1;
    }
    0
}

unsafe extern "C" fn stream_error(_: *mut ArrowArrayStream) -> *const c_char {
    null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: `private_data` is the box of `stream`, given back once: `release` is cleared.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<OfStream>()));
        (*stream).release = None;
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: `private_data` is the box of `schema_of`; a child that was moved out has no release.
    unsafe {
        let of = Box::from_raw((*schema).private_data.cast::<OfSchema>());
        for child in of.children.iter().copied().chain([of.dictionary]).filter(|p| !p.is_null()) {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: as of schemas, with the box of `array_from`.
    unsafe {
        let of = Box::from_raw((*array).private_data.cast::<OfArray>());
        for child in of.children.iter().copied().chain([of.dictionary]).filter(|p| !p.is_null()) {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*array).release = None;
    }
}

/// A capsule that owns `structure`.
///
/// # Safety
/// `name` and `destructor` are those of its kind.
unsafe fn capsule<'py, T>(
    py: Python<'py>,
    structure: T,
    name: &'static CStr,
    destructor: ffi::PyCapsule_Destructor,
) -> PyResult<Bound<'py, PyAny>> {
    let structure = Box::into_raw(Box::new(structure));
    // SAFETY: a capsule of a valid pointer and a static name; the result is a new reference.
    unsafe {
        let made = ffi::PyCapsule_New(structure.cast(), name.as_ptr(), Some(destructor));
        Bound::from_owned_ptr_or_err(py, made)
    }
}

unsafe extern "C" fn drop_stream(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it once with the capsule of `capsule`.
    unsafe {
        let stream = ffi::PyCapsule_GetPointer(capsule, c"arrow_array_stream".as_ptr())
            .cast::<ArrowArrayStream>();
        if let Some(release) = (*stream).release {
            release(stream);
        }
        drop(Box::from_raw(stream));
    }
}

unsafe extern "C" fn drop_schema(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        let schema =
            ffi::PyCapsule_GetPointer(capsule, c"arrow_schema".as_ptr()).cast::<ArrowSchema>();
        if let Some(release) = (*schema).release {
            release(schema);
        }
        drop(Box::from_raw(schema));
    }
}
