//! A proxy in front of the server. It fails on request, and remembers what was asked.

use std::collections::{HashMap, VecDeque};
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use crate::messages::Message;

/// What the proxy does with requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Forward,
    /// It passes nothing on until it forwards again.
    HoldRequests,
    /// The server answers, and the answer waits until the proxy forwards again.
    HoldAnswers,
    /// The server answers, and the answer is lost.
    LoseAnswers,
    /// Connections are closed at once.
    Close,
}

/// A proxy. Its threads end with the process.
pub struct Proxy {
    pub port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    server: u16,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    mode: Mode,
    /// Answers that the server is not asked for, by operation.
    given: HashMap<String, VecDeque<Vec<u8>>>,
    seen: Vec<Message>,
}

impl Proxy {
    /// A proxy of the server at this port.
    pub fn of(server: u16) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").unwrap(), server)
    }

    pub fn at(listener: TcpListener, server: u16) -> Self {
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            server,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let serving = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let shared = serving.clone();
                std::thread::spawn(move || shared.serve(client.unwrap()));
            }
        });
        Self { port, shared }
    }

    pub fn set(&self, mode: Mode) {
        self.shared.state.lock().unwrap().mode = mode;
        self.shared.changed.notify_all();
    }

    /// Give this answer to the next request for this operation, after those that were given before.
    pub fn give(&self, operation: &str, answer: Vec<u8>) {
        let mut state = self.shared.state.lock().unwrap();
        let given = state.given.entry(operation.to_owned()).or_default();
        given.push_back(answer);
    }

    /// The requests for this operation.
    pub fn seen(&self, operation: &str) -> Vec<Message> {
        let state = self.shared.state.lock().unwrap();
        let of_operation = state.seen.iter().filter(|m| m.operation() == operation);
        of_operation.cloned().collect()
    }

    pub fn count(&self, operation: &str) -> usize {
        self.seen(operation).len()
    }
}

impl Shared {
    fn serve(&self, mut client: TcpStream) {
        while let Some(request) = Message::read(&mut client) {
            let Some(answer) = self.answer(request) else {
                return;
            };
            if client.write_all(&answer).is_err() {
                return;
            }
        }
    }

    /// The answer to a request; none if the connection is closed.
    fn answer(&self, request: Message) -> Option<Vec<u8>> {
        let operation = request.operation().to_owned();
        let mode = {
            let mut state = self.state.lock().unwrap();
            state.seen.push(request.clone());
            if let Some(given) = state
                .given
                .get_mut(&operation)
                .and_then(VecDeque::pop_front)
            {
                return Some(given);
            }
            state.mode
        };
        match mode {
            Mode::Close => return None,
            Mode::HoldRequests => self.wait(),
            Mode::Forward | Mode::HoldAnswers | Mode::LoseAnswers => {}
        }
        let answer = self.forward(&request)?;
        match mode {
            Mode::LoseAnswers => return None,
            Mode::HoldAnswers => self.wait(),
            _ => {}
        }
        Some(answer)
    }

    fn wait(&self) {
        let state = self.state.lock().unwrap();
        let forwards = |state: &mut State| state.mode != Mode::Forward;
        drop(self.changed.wait_while(state, forwards).unwrap());
    }

    fn forward(&self, request: &Message) -> Option<Vec<u8>> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.server));
        let mut server = TcpStream::connect(address).ok()?;
        server.write_all(&request.bytes()).ok()?;
        Some(Message::read(&mut server)?.bytes())
    }
}
