//! Checkpoints at a server of somebody else (`checkpoints-url`): it has them each minute, what is away stops no payment, and
//! with its last one an older database is found.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::*;

/// A server that keeps what is put there, by its path.
#[derive(Default)]
struct Server {
    kept: Mutex<BTreeMap<String, String>>,
    /// Whether it answers that it is out of order.
    is_broken: Mutex<bool>,
}

impl Server {
    /// Starts one. Returns its URL too.
    async fn start() -> (Arc<Self>, String) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Arc::new(Self::default());
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let serving = serving.clone();
                let answer = service_fn(move |request| {
                    let serving = serving.clone();
                    async move { Ok::<_, hyper::Error>(serving.take(request).await) }
                });
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(connection), answer);
                tokio::spawn(connection);
            }
        });
        (server, format!("http://{address}"))
    }

    async fn take(&self, request: Request<Incoming>) -> Response<Empty<Bytes>> {
        let mut answer = Response::default();
        if *self.is_broken.lock().unwrap() {
            *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            return answer;
        }
        // A panic here would be the host's trouble: what came is judged by the test.
        let path = format!("{} {}", request.method(), request.uri().path());
        let body = request.into_body().collect().await;
        let text = body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned());
        let text = text.unwrap_or_default();
        self.kept.lock().unwrap().insert(path, text);
        *answer.status_mut() = StatusCode::CREATED;
        answer
    }

    /// The checkpoint of the longest log that it has, with the number of entries.
    fn newest(&self) -> Option<(u64, String)> {
        let kept = self.kept.lock().unwrap();
        let sizes = kept.iter().map(|(path, note)| {
            let size = path.strip_prefix("PUT /audit/").unwrap();
            (size.parse().unwrap(), note.clone())
        });
        sizes.max()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn server_of_another_has_checkpoints_that_show_an_older_database() {
    let (server, url) = Server::start().await;
    *server.is_broken.lock().unwrap() = true;
    let settings = format!("{AUDIT}checkpoints-url = \"{url}/audit\"\n");
    let mut scene = Scene::without_signatures(|scheme| {
        scheme.add_host_settings(&settings).unwrap();
    })
    .await;
    // It is out of order: payments go on, the log is signed, and the operator is told.
    committed(&scene.world.pay("1", "USD").await).unwrap();
    scene.signed().await;
    until("the failure is told", SOON, async || {
        let metrics = Metrics::of(&scene.world.host).await?;
        let failures = metrics.get("rialto_audit_outside_failures_total");
        let log = scene.world.host.log();
        let is_told = log.contains("was not taken everywhere") && log.contains("answered 503");
        let is_there = is_told && failures.is_ok_and(|failures| failures >= 1);
        Ok(is_there.then_some(()).ok_or(log))
    })
    .await
    .unwrap();
    assert_eq!(server.newest(), None);
    let old = tempfile::tempdir().unwrap();
    copy(&scene, old.path()).await;
    let (key, head) = (
        scene.folder().join("secrets/audit.reference.pem"),
        old.path().join("head"),
    );
    let verify = |head: &Path| {
        let arguments = ["verify", "--key"].map(Path::new);
        let arguments = [&arguments[..], &[&key, Path::new("--head"), head]].concat();
        let arguments = arguments.iter().map(|one| one.to_str().unwrap());
        let arguments: Vec<&str> = arguments.collect();
        audit(&arguments, &["--state", old.path().to_str().unwrap()])
    };
    let (folder, before) = (scene.folder().join("elsewhere"), scene.signed().await);
    let whole = verify(&folder);
    assert_eq!(whole.code, 0, "{whole}");

    // In order again: after a start it has the newest checkpoint, also of a log that has not grown.
    *server.is_broken.lock().unwrap() = false;
    let last = scene.world.pay("1", "USD").await;
    committed(&last).unwrap();
    let about = format!("transfer:{}", last.transfer_id);
    scene.about(&about, 2).await;
    scene.world.host.stop().unwrap();
    scene.world.host.restart().unwrap();
    let size = before["signed"].as_u64().unwrap();
    let mut newest = String::new();
    until("a checkpoint at the server", SOON, async || {
        let found = server.newest().filter(|(found, _)| *found > size);
        let is_there = found.is_some();
        newest = found.map(|(_, note)| note).unwrap_or_default();
        Ok(is_there
            .then_some(())
            .ok_or(format!("{:?}", server.newest())))
    })
    .await
    .unwrap();
    fs::write(&head, &newest).unwrap();
    let found = verify(&head);
    assert_eq!(found.code, 1, "{found}");
    let words = format!("{}{}", found.stdout, found.stderr);
    assert!(words.contains("missing"), "{found}");
    let real = ["verify", "--head", head.to_str().unwrap()];
    let real = scene.audit(&real);
    assert_eq!(real.code, 0, "{real}");
    scene.world.host.nothing_failed().await.unwrap();
}
