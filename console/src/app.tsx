// The frame: who is signed in, the menu, and the page that the address names.

import { Component, type ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, onSignedOut, send } from "./data/api";
import { link, type Place, usePlace } from "./data/router";
import { feed } from "./data/feed";
import { type Session, SessionContext } from "./data/session";
import { clock } from "./data/format";
import { Audit } from "./pages/audit";
import { Backtest, Backtests } from "./pages/backtests";
import { Configuration } from "./pages/configuration";
import { Deliveries } from "./pages/deliveries";
import { Health } from "./pages/health";
import { BacktestInput, ShadowInput } from "./pages/input";
import { Ledger } from "./pages/ledger";
import { LedgerAccountPage } from "./pages/ledger-account";
import { Live } from "./pages/live";
import { DraftPage } from "./pages/draft";
import { PlanPage } from "./pages/plan";
import { Participant } from "./pages/participant";
import { Participants } from "./pages/participants";
import { Release } from "./pages/release";
import { Releases } from "./pages/releases";
import { Requests } from "./pages/requests";
import { Rules } from "./pages/rules";
import { Search } from "./pages/search";
import { Settlements } from "./pages/settlement";
import { StoryPage } from "./pages/story";
import { WiringPage } from "./pages/wiring";
import { Empty, Head } from "./parts/basics";
import { Notices } from "./parts/notices";
import { SignIn } from "./parts/sign-in";
import { ThemeChoice } from "./parts/theme";
import { words } from "./words";

const GROUPS: [keyof typeof words.nav.groups, (keyof typeof words.nav & string)[]][] = [
  ["payments", ["live", "search"]],
  ["scheme", ["participants", "requests", "rules", "releases"]],
  ["money", ["settlement", "ledger"]],
  ["host", ["health", "deliveries", "audit", "configuration"]],
];

/** The console. */
export function App() {
  const [session, setSession] = useState<Session | null>();
  const [ended, setEnded] = useState(false);
  const known = useRef(false);
  const look = useCallback(async (): Promise<Error | undefined> => {
    try {
      const found = await get<Session>("/session");
      known.current = true;
      setEnded(false);
      setSession(found);
      return undefined;
    } catch (error) {
      setSession(null);
      return error as Error;
    }
  }, []);
  useEffect(() => {
    onSignedOut(() => {
      feed.forget();
      // Several requests of a page may find it out, one after the other.
      if (known.current) setEnded(true);
      known.current = false;
      setSession(null);
    });
    // The host says in the page whether the browser has shown a session.
    if (document.documentElement.dataset["session"] === "none") setSession(null);
    else void look();
  }, [look]);
  const signOut = async (): Promise<void> => {
    // A session that has ended already is over too.
    known.current = false;
    await send({ method: "POST", path: "/sign-out" }).catch(() => undefined);
    feed.forget();
    setEnded(false);
    setSession(null);
  };
  if (session === undefined) return <p class="loading" role="status">{words.state.loading} …</p>;
  if (session === null) return <SignIn ended={ended} look={look} />;
  return (
    <SessionContext.Provider value={session}>
      <Frame session={session} signOut={() => void signOut()} />
    </SessionContext.Provider>
  );
}

function Frame({ session, signOut }: { session: Session; signOut: () => void }) {
  const place = usePlace();
  const [isOpen, setOpen] = useState(false);
  const key = [place.page, ...place.rest].join("/");
  const first = useRef(true);
  useEffect(() => {
    setOpen(false);
    // Who uses a keyboard or a screen reader goes on at the new page's title.
    if (!first.current) document.getElementById("title")?.focus({ preventScroll: true });
    first.current = false;
    scrollTo(0, 0);
  }, [key]);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
        {words.skip}
      </a>
      <header class="bar">
        <a class="brand" href={link("live")}>
          <strong>{words.product}</strong> <span>{words.console}</span>
        </a>
        <button type="button" class="menu-button" aria-expanded={isOpen} aria-controls="menu" onClick={() => setOpen(!isOpen)}>
          {words.nav.menu}
        </button>
      </header>
      <nav id="menu" aria-label={words.nav.label} class={isOpen ? "open" : ""}>
        {GROUPS.map(([group, pages]) => (
          <div class="group">
            <p>{words.nav.groups[group]}</p>
            <ul>
              {pages.map((page) => (
                <li>
                  <a href={link(page)} aria-current={menuPage(place.page) === page ? "page" : undefined}>
                    {words.nav[page] as string}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <Me session={session} signOut={signOut} />
      </nav>
      <main id="main" tabIndex={-1}>
        <Boundary key={key}>
          <Page place={place} />
        </Boundary>
      </main>
      <Notices />
    </div>
  );
}

/** The page of the menu to which a place belongs. */
function menuPage(page: string): string {
  return page === "transfers" || page === "story" ? "search" : page;
}

function Me({ session, signOut }: { session: Session; signOut: () => void }) {
  return (
    <div class="me">
      <p class="who">
        <span class="hint">{words.nav.me}</span>
        <strong>{session.person}</strong>
      </p>
      <p class="roles">{words.sign.roles(session.roles)}</p>
      <p class="hint">
        {words.sign.kinds[session.kind]}
        {session.expires !== undefined && `, ${words.sign.until(clock(session.expires))}`}
      </p>
      <ThemeChoice />
      <button type="button" onClick={signOut}>
        {words.sign.out}
      </button>
    </div>
  );
}

function Page({ place }: { place: Place }) {
  const [id] = place.rest;
  switch (place.page) {
    case "live":
      return <Live />;
    case "search":
      return <Search kind={id ?? "transfers"} query={place.query} />;
    // The address of searches that were bookmarked earlier.
    case "transfers":
      return <Search kind="transfers" query={place.query} />;
    case "story":
      return <StoryPage id={id ?? ""} />;
    case "participants":
      return id ? <Participant id={id} /> : <Participants />;
    case "requests":
      return <Requests />;
    case "rules":
      if (id === "wiring") return <WiringPage number={place.rest[1]} />;
      return id === "input" ? <ShadowInput query={place.query} /> : <Rules />;
    case "releases":
      if (id === "new") return <DraftPage />;
      if (id === "backtests") {
        const [, job, part] = place.rest;
        if (job !== undefined && part === "input") return <BacktestInput id={job} query={place.query} />;
        return job === undefined ? <Backtests query={place.query} /> : <Backtest id={job} />;
      }
      if (id?.startsWith("sha256:")) return <PlanPage digest={id} />;
      return id ? <Release number={id} /> : <Releases />;
    case "settlement":
      return <Settlements id={id} />;
    case "ledger":
      return id ? <LedgerAccountPage id={id} /> : <Ledger query={place.query} />;
    case "health":
      return <Health />;
    case "deliveries":
      return <Deliveries />;
    case "configuration":
      return <Configuration />;
    case "audit":
      return <Audit query={place.query} />;
    default:
      return (
        <>
          <Head title={words.problem.page} />
          <Empty title={words.problem.page} hint={words.problem.pageHint} />
        </>
      );
  }
}

/** Shows that a page has failed, in the place of that page alone. */
class Boundary extends Component<{ children: ComponentChildren }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <div class="problem" role="alert">
        <p class="problem-title">{words.problem.broken}</p>
        <p>{words.problem.brokenHint}</p>
      </div>
    );
  }
}
