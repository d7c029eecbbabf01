//! Arrow's C data interface, in PyCapsules.
//!
//! Source: the Arrow specification, "The Arrow C data interface", "The Arrow C stream interface"
//! and "The Arrow PyCapsule Interface".
//!
//! Safety: every exported structure owns a share of its table (`Arc`), which its `release` gives
//! back. The consumer moves the structure and calls `release` once, as the specification has it.

use super::{Batch, Column, Table};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// The stream of a table's batches.
pub fn of_stream(py: Python<'_>, table: Arc<Table>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the structure is a stream, the destructor that of streams.
    unsafe { capsule(py, stream(table), c"arrow_array_stream", drop_stream) }
}

/// The schema of a table.
pub fn of_schema<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: the structure is a schema, the destructor that of schemas.
    unsafe { capsule(py, schema(table), c"arrow_schema", drop_schema) }
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

/// The things that a schema points at.
struct OfSchema {
    _name: CString,
    children: Vec<*mut ArrowSchema>,
    dictionary: *mut ArrowSchema,
}

/// The things that an array points at.
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
