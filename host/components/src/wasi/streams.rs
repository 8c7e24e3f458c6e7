//! `wasi:io` and the standard streams. Input is empty. Output goes to the log line by line, and counts as the
//! component's log lines. A call that cannot be answered at once traps; wasmtime's own implementation would
//! start threads and wait.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use rialto_engine::{Name, limits};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::cli::{stderr, stdin, stdout};
use wasmtime_wasi::p2::bindings::io as now_or_later;
use wasmtime_wasi::p2::bindings::sync::io::{poll, streams};
use wasmtime_wasi::p2::pipe::ClosedInputStream;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, OutputStream, Pollable, StreamError, StreamResult,
};
use wasmtime_wasi::runtime::poll_noop;

use super::tail::Tail;
use crate::guest::Guest;

use now_or_later::poll::{Host as Poll, HostPollable as OnePoll};
use now_or_later::streams::{HostInputStream as Input, HostOutputStream as Output};

/// The longest line, in bytes. A longer one is split.
const LINE_BYTES_MAX: usize = 1_024;
/// The most bytes of one write.
const WRITE_BYTES_MAX: usize = 64 << 10;

/// The name of standard error in the log.
const STDERR: &str = "stderr";

/// The table of a [`Guest`]'s resources.
pub(super) struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

/// A complete line.
struct Line {
    component: Name,
    stream: &'static str,
    text: String,
}

impl Line {
    fn log(&self) {
        let Self {
            component,
            stream,
            text,
        } = self;
        let component = &**component;
        tracing::info!(target: "component", component, stream, "{text}");
    }
}

/// The complete lines of one store's streams that are not in the log yet. The store logs them in its turn.
#[derive(Clone, Default)]
pub(super) struct Ended(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    lines: Vec<Line>,
    /// The number of lines beyond the limit of a turn. They are not kept.
    beyond: u32,
    /// The end of what this call has written to standard error.
    errors: Tail,
}

impl Ended {
    /// Drop the last text of standard error, because another call begins.
    pub(super) fn forget_errors(&self) {
        self.0.lock().errors.clear();
    }

    /// The last text of this call on standard error.
    pub(super) fn last_errors(&self) -> Option<String> {
        self.0.lock().errors.words()
    }

    fn add(&self, line: Line) {
        let mut queue = self.0.lock();
        if queue.lines.len() < limits::LINES_PER_TURN_MAX as usize {
            queue.lines.push(line);
        } else {
            queue.beyond = queue.beyond.saturating_add(1);
        }
    }
}

impl Drop for Queue {
    /// Log the incomplete last line of an instance that is dropped. It is often the reason.
    fn drop(&mut self) {
        if let Some(last) = self.lines.last() {
            last.log();
        }
    }
}

/// A stream to the log.
struct Lines {
    component: Name,
    stream: &'static str,
    line: Vec<u8>,
    ended: Ended,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) {
        if self.stream == STDERR {
            self.ended.0.lock().errors.push(bytes);
        }
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
            }
            if byte == b'\n' || self.line.len() >= LINE_BYTES_MAX {
                self.end();
            }
        }
    }

    fn end(&mut self) {
        if self.line.is_empty() {
            return;
        }
        self.ended.add(Line {
            component: self.component.clone(),
            stream: self.stream,
            text: String::from_utf8_lossy(&self.line).into_owned(),
        });
        self.line.clear();
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.end();
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    // A flush does not end a line, because runtimes flush in the middle of their messages.
    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

impl Guest {
    fn lines(&mut self, stream: &'static str) -> wasmtime::Result<Resource<DynOutputStream>> {
        let lines = Lines {
            component: self.component(),
            stream,
            line: Vec::new(),
            ended: self.wasi().ended.clone(),
        };
        let lines: DynOutputStream = Box::new(lines);
        Ok(self.table().push(lines)?)
    }

    /// Log the complete lines, as many as the turn may log.
    fn log_ended(&mut self) {
        let ended = self.wasi().ended.clone();
        let (lines, beyond) = {
            let mut queue = ended.0.lock();
            (
                std::mem::take(&mut queue.lines),
                std::mem::take(&mut queue.beyond),
            )
        };
        // Lines below the log level do not count.
        if !tracing::enabled!(target: "component", tracing::Level::INFO) {
            return;
        }
        for line in lines {
            if self.may_log() {
                line.log();
            }
        }
        for _ in 0..beyond {
            self.may_log();
        }
    }
}

impl stdin::Host for Guest {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<DynInputStream>> {
        let closed: DynInputStream = Box::new(ClosedInputStream);
        Ok(self.table().push(closed)?)
    }
}

impl stdout::Host for Guest {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.lines("stdout")
    }
}

impl stderr::Host for Guest {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.lines(STDERR)
    }
}

/// The result of a future, if it is ready now; otherwise a trap.
fn now<T>(answer: impl Future<Output = T>) -> wasmtime::Result<T> {
    poll_noop(pin!(answer)).ok_or_else(|| {
        wasmtime::format_err!("waited on a stream of WASI, and nothing in a turn waits")
    })
}

fn stream_now<T>(answer: impl Future<Output = StreamResult<T>>) -> StreamResult<T> {
    now(answer).map_err(StreamError::Trap)?
}

impl poll::Host for Guest {
    fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        now(Poll::poll(self.table(), pollables))?
    }
}

impl poll::HostPollable for Guest {
    fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        now(OnePoll::ready(self.table(), pollable))?
    }

    fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        now(OnePoll::block(self.table(), pollable))?
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        OnePoll::drop(self.table(), pollable)
    }
}

impl streams::Host for Guest {
    fn convert_stream_error(
        &mut self,
        error: StreamError,
    ) -> wasmtime::Result<streams::StreamError> {
        streams::Host::convert_stream_error(self.table(), error)
    }
}

impl streams::HostInputStream for Guest {
    fn read(&mut self, stream: Resource<DynInputStream>, len: u64) -> StreamResult<Vec<u8>> {
        Input::read(self.table(), stream, len)
    }

    fn blocking_read(
        &mut self,
        stream: Resource<DynInputStream>,
        len: u64,
    ) -> StreamResult<Vec<u8>> {
        stream_now(Input::blocking_read(self.table(), stream, len))
    }

    fn skip(&mut self, stream: Resource<DynInputStream>, len: u64) -> StreamResult<u64> {
        Input::skip(self.table(), stream, len)
    }

    fn blocking_skip(&mut self, stream: Resource<DynInputStream>, len: u64) -> StreamResult<u64> {
        stream_now(Input::blocking_skip(self.table(), stream, len))
    }

    fn subscribe(
        &mut self,
        stream: Resource<DynInputStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        Input::subscribe(self.table(), stream)
    }

    fn drop(&mut self, stream: Resource<DynInputStream>) -> wasmtime::Result<()> {
        now(Input::drop(self.table(), stream))?
    }
}

impl streams::HostOutputStream for Guest {
    fn check_write(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<u64> {
        Output::check_write(self.table(), stream)
    }

    fn write(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        let written = Output::write(self.table(), stream, bytes);
        self.log_ended();
        written
    }

    fn blocking_write_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        bytes: Vec<u8>,
    ) -> StreamResult<()> {
        let writing = Output::blocking_write_and_flush(self.table(), stream, bytes);
        let written = stream_now(writing);
        self.log_ended();
        written
    }

    fn flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        Output::flush(self.table(), stream)
    }

    fn blocking_flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        stream_now(Output::blocking_flush(self.table(), stream))
    }

    fn subscribe(
        &mut self,
        stream: Resource<DynOutputStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        Output::subscribe(self.table(), stream)
    }

    fn write_zeroes(&mut self, stream: Resource<DynOutputStream>, len: u64) -> StreamResult<()> {
        let written = Output::write_zeroes(self.table(), stream, len);
        self.log_ended();
        written
    }

    fn blocking_write_zeroes_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        len: u64,
    ) -> StreamResult<()> {
        let writing = Output::blocking_write_zeroes_and_flush(self.table(), stream, len);
        let written = stream_now(writing);
        self.log_ended();
        written
    }

    fn splice(
        &mut self,
        to: Resource<DynOutputStream>,
        from: Resource<DynInputStream>,
        len: u64,
    ) -> StreamResult<u64> {
        let spliced = Output::splice(self.table(), to, from, len);
        self.log_ended();
        spliced
    }

    fn blocking_splice(
        &mut self,
        to: Resource<DynOutputStream>,
        from: Resource<DynInputStream>,
        len: u64,
    ) -> StreamResult<u64> {
        let spliced = stream_now(Output::blocking_splice(self.table(), to, from, len));
        self.log_ended();
        spliced
    }

    fn drop(&mut self, stream: Resource<DynOutputStream>) -> wasmtime::Result<()> {
        let dropped = now(Output::drop(self.table(), stream));
        self.log_ended();
        dropped?
    }
}
