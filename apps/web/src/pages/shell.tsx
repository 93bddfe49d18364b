import { useQuery } from "@tanstack/react-query";
import {
  type ErrorComponentProps,
  Link,
  Outlet,
  useNavigate,
  useRouterState,
} from "@tanstack/react-router";
import { CircleCheck, MapPinOff, SlidersHorizontal, Unplug } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { reportFirstRead, useIsFirstRead } from "../lib/first-read.ts";
import { useInbox } from "../lib/inbox.ts";
import { ownIn } from "../lib/own.ts";
import { useHostEvents } from "../lib/lists.ts";
import { useNotices } from "../lib/notices.ts";
import type { Connection } from "../lib/hub.ts";
import { useConnection } from "../lib/stream.ts";
import { serverQuery } from "../lib/workflows.ts";
import { Button, ButtonLink } from "../ui/button.tsx";
import { later } from "../ui/later.tsx";
import { isTyping, Page, useKeys, waiting } from "../ui/page.tsx";
import { Empty, FailureNotice } from "../ui/states.tsx";

const AppearanceMenu = later(async () => (await import("./appearance-menu.tsx")).AppearanceMenu);
const KeysHelp = later(async () => (await import("./keys-help.tsx")).KeysHelp);

const sections = [
  { to: "/", label: "Threads", paths: /^\/(threads|$)/ },
  { to: "/inbox", label: "Inbox", paths: /^\/inbox/ },
  { to: "/workflows", label: "Workflows", paths: /^\/workflows/ },
  { to: "/plans", label: "Plans", paths: /^\/plans/ },
  { to: "/evals", label: "Evals", paths: /^\/evals/ },
  { to: "/add", label: "Add", paths: /^\/add$/ },
] as const;

export function Shell() {
  const [isHelping, setHelping] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const main = useRef<HTMLElement>(null);
  const shown = useRouterState({
    select: ({ resolvedLocation }) => resolvedLocation?.pathname ?? path,
  });
  useFocusOf(main, shown);
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    if (nav.current) showCurrent(nav.current);
  }, [path]);
  useGoKeys(() => setHelping(true));
  useHostEvents();
  const isRead = useIsFirstRead();
  useEffect(() => {
    // Only the list competes with the header for a slow line.
    if (path !== "/") reportFirstRead();
  }, [path]);
  return (
    <>
      <a
        className="fixed -top-16 left-3 z-60 rounded-md bg-solid px-4 py-2 text-on-solid focus:top-2"
        href="#main"
      >
        Skip to the content
      </a>
      <header className="sticky top-0 z-30 flex h-header items-center gap-5 border-b bg-surface px-5 max-sm:gap-2 max-sm:px-3">
        <Link
          to="/"
          className="flex min-h-7 min-w-7 items-center gap-2 font-semibold text-ink hover:no-underline"
          aria-label="uncaged-workflow, to the threads"
        >
          <img src="/icon.svg" alt="" width={22} height={22} />
          <span className="max-sm:hidden">uncaged-workflow</span>
        </Link>
        {isRead && <ServedProject />}
        <nav
          ref={nav}
          className="flex min-w-0 flex-1 gap-0.5 overflow-x-auto scrollbar-none"
          aria-label="Pages"
        >
          {sections.map(({ to, label, paths }) => (
            <Link
              key={to}
              to={to}
              className="flex-none rounded-md px-3 py-1 font-semibold text-muted -outline-offset-2 hover:bg-hover hover:no-underline aria-[current]:bg-accent-soft aria-[current]:text-accent max-sm:px-2"
              aria-current={paths.test(path) ? "page" : undefined}
            >
              {label}
              {to === "/inbox" && isRead && <WaitingBadge />}
            </Link>
          ))}
        </nav>
        <Appearance onKeys={() => setHelping(true)} />
      </header>
      <LostNotice />
      <main ref={main} id="main" className="outline-none" tabIndex={-1}>
        <Outlet />
      </main>
      <KeysHelp isOpen={isHelping} onClose={() => setHelping(false)} />
    </>
  );
}

/**
 * Scrolls the navigation to the current section, because a phone does not show all of them. `scrollIntoView` would move
 * the Tab order into the navigation in Chromium.
 */
function showCurrent(nav: HTMLElement): void {
  const current = nav.querySelector("[aria-current=page]")?.getBoundingClientRect();
  if (!current) return;
  const { left, right } = nav.getBoundingClientRect();
  if (current.left < left) nav.scrollLeft -= left - current.left;
  else if (current.right > right) nav.scrollLeft += current.right - right;
}

/** The number of waiting questions, decisions and plans; hidden at zero. */
function WaitingBadge() {
  const inbox = useInbox();
  const navigate = useNavigate();
  useNotices(inbox, (item) => void navigate({ to: "/inbox", search: { item } }));
  const { items, isMore } = inbox;
  const count = items.length;
  useEffect(() => waiting.set(count), [count]);
  if (count === 0) return null;
  return (
    <>
      {" "}
      <span className="ml-1 rounded-full bg-solid px-1 py-px text-small font-semibold text-on-solid">
        {count}
        {isMore && "+"}
        <span className="sr-only"> waiting</span>
      </span>
    </>
  );
}

/** The project of the storage root, if any. */
function ServedProject() {
  const { data: server } = useQuery(serverQuery);
  if (!server?.project) return null;
  const name = server.project.split(/[/\\]/).at(-1);
  return (
    <span
      className="max-w-32 truncate rounded-md border px-2 py-0.5 text-small text-muted max-sm:max-w-18"
      title={`The project in ${server.project}`}
    >
      <span className="sr-only">Project </span>
      {name}
    </span>
  );
}

/** Opens the menu of the theme, the density and the keys. */
function Appearance({ onKeys }: { onKeys: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  return (
    <>
      <Button
        ref={button}
        look="quiet"
        icon={<SlidersHorizontal />}
        aria-label="Appearance and keys"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      <AppearanceMenu
        isOpen={isOpen}
        anchor={() => button.current}
        onClose={() => setOpen(false)}
        onKeys={onKeys}
      />
    </>
  );
}

/** Focuses the content of a new page. */
function useFocusOf(main: React.RefObject<HTMLElement | null>, path: string): void {
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    main.current?.focus({ preventScroll: true });
  }, [main, path]);
}

/** The page of each letter after `g`. */
const places = { t: "/", i: "/inbox", w: "/workflows", p: "/plans", e: "/evals" } as const;

/** Time to press the letter after `g`, in milliseconds. */
const goMs = 1_000;

/** Handles the global keys: `g` and a letter open a page; `?` lists the keys. */
function useGoKeys(onHelp: () => void): void {
  const navigate = useNavigate();
  const goneAt = useRef(0);
  useKeys({
    "?": onHelp,
    g: () => {
      goneAt.current = Date.now();
    },
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isAfterGo = Date.now() - goneAt.current < goMs;
      goneAt.current = 0;
      const to = ownIn<(typeof places)[keyof typeof places]>(places, event.key);
      if (!isAfterGo || !to || isTyping(event)) return;
      // The letter has another meaning on some pages.
      event.preventDefault();
      void navigate({ to });
    };
    document.addEventListener("keydown", onKey, { capture: true });
    return () => document.removeEventListener("keydown", onKey, { capture: true });
  }, [navigate]);
}

const lost = { icon: Unplug, look: "bg-amber-soft text-amber" };

const notices = {
  lost: {
    ...lost,
    text: "The server is unreachable. This page shows the last known state and reconnects automatically. Threads keep running.",
  },
  refused: {
    ...lost,
    text: "The server refuses this page's requests. Reload the page to see why.",
  },
  back: {
    icon: CircleCheck,
    look: "bg-green-soft text-green",
    text: "Connected again. Nothing was missed.",
  },
};

const noticeOf = (state: Exclude<Connection, "open"> | "back") =>
  typeof state === "number"
    ? {
        ...lost,
        text: `Too many open pages; retrying in ${state} s. This page shows the last known state.`,
      }
    : notices[state];

/** Minimum length of a reported loss, in milliseconds. A reconnect is shorter. */
const patienceMs = 700;
const gladMs = 2_500;

/** Reports the loss of the server connection, and its return. */
function LostNotice() {
  const connection = useConnection();
  const [shown, setShown] = useState<Parameters<typeof noticeOf>[0] | null>(null);
  const wasShown = useRef(false);
  useEffect(() => {
    if (connection !== "open") {
      const timer = setTimeout(() => {
        wasShown.current = true;
        setShown(connection);
      }, patienceMs);
      return () => clearTimeout(timer);
    }
    if (!wasShown.current) return;
    wasShown.current = false;
    setShown("back");
    const timer = setTimeout(() => setShown(null), gladMs);
    return () => clearTimeout(timer);
  }, [connection]);
  const notice = shown && noticeOf(shown);
  const box = useRef<HTMLDivElement>(null);
  // Sticky headers must stay below the notice.
  useLayoutEffect(() => {
    const height = shown === null ? 0 : (box.current?.offsetHeight ?? 0);
    document.documentElement.style.setProperty("--notice", `${height}px`);
  }, [shown]);
  return (
    <div ref={box} className="sticky top-header z-25" aria-live="polite">
      {notice && (
        <p
          className={`flex items-center justify-center gap-2 px-4 py-1 text-small font-semibold ${notice.look}`}
        >
          <notice.icon /> {notice.text}
        </p>
      )}
    </div>
  );
}

export function PageFailure({ error }: ErrorComponentProps) {
  return (
    <Page title="This page could not be shown">
      <FailureNotice
        error={error instanceof Error ? error : new Error(String(error))}
        onRetry={() => location.reload()}
      />
    </Page>
  );
}

export function NoPage() {
  return (
    <Page title="Not found">
      <Empty icon={<MapPinOff />} title="No page at this address">
        <ButtonLink to="/">To the threads</ButtonLink>
      </Empty>
    </Page>
  );
}
