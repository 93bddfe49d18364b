import { useSelector } from "@tanstack/react-store";
import {
  type ErrorComponentProps,
  Link,
  Outlet,
  useNavigate,
  useRouterState,
} from "@tanstack/react-router";
import { MapPinOff, SlidersHorizontal } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { reportFirstRead, useIsFirstRead } from "../lib/first-read.ts";
import { ownIn } from "../lib/own.ts";
import { Button, ButtonLink } from "../ui/button.tsx";
import { later } from "../ui/later.tsx";
import { isTyping, Page, useKeys, waiting } from "../ui/page.tsx";
import { Empty, FailureNotice } from "../ui/states.tsx";

const AppearanceMenu = later(async () => (await import("./shell-parts.tsx")).AppearanceMenu);
const LostNotice = later(async () => (await import("./shell-parts.tsx")).LostNotice);
const TokenRights = later(async () => (await import("./shell-parts.tsx")).TokenRights);
const WaitingBadge = later(async () => (await import("./shell-parts.tsx")).WaitingBadge);
const KeysHelp = later(async () => (await import("./shell-parts.tsx")).KeysHelp);

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
  const count = useSelector(waiting);
  useEffect(() => {
    if (nav.current) showCurrent(nav.current);
  }, [path, count]);
  useGoKeys(() => setHelping(true));
  const isRead = useIsFirstRead();
  useEffect(() => {
    // On other pages, the header's requests do not wait for the content.
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
        <nav
          ref={nav}
          className="flex min-w-0 flex-1 gap-0.5 overflow-x-auto scrollbar-none"
          aria-label="Pages"
        >
          {sections.map(({ to, label, paths }) => (
            <Link
              key={to}
              to={to}
              className="flex-none rounded-md px-3 py-1 font-semibold text-muted -outline-offset-2 hover:bg-hover hover:no-underline aria-[current]:bg-accent-soft aria-[current]:text-accent max-md:py-2.5 max-sm:px-2"
              aria-current={paths.test(path) ? "page" : undefined}
            >
              {label}
              {to === "/inbox" && <WaitingBadge isOpen={isRead} />}
            </Link>
          ))}
        </nav>
        <TokenRights isOpen={isRead} />
        <Appearance onKeys={() => setHelping(true)} />
      </header>
      <LostNotice isOpen={isRead} />
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
      // Some pages use the letter for another action.
      event.preventDefault();
      void navigate({ to });
    };
    document.addEventListener("keydown", onKey, { capture: true });
    return () => document.removeEventListener("keydown", onKey, { capture: true });
  }, [navigate]);
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
