import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { Keyboard, Monitor, Moon, Sun } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "../controls/button.tsx";
import { setTheme, type Theme, useTheme } from "../theme/theme.ts";
import { useKeys } from "./keys.ts";
import { KeysHelp } from "./keys-help.tsx";
import { LostNotice } from "./lost-notice.tsx";
import styles from "./shell.module.css";

const places = [
  {
    to: "/",
    label: "Threads",
    isHere: (path: string) => path === "/" || path.startsWith("/threads"),
  },
  { to: "/workflows", label: "Workflows", isHere: (path: string) => path.startsWith("/workflows") },
  { to: "/add", label: "Add", isHere: (path: string) => path === "/add" },
] as const;

/** What stands around every page. */
export function Shell() {
  const [isHelping, setHelping] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const main = useRef<HTMLElement>(null);
  const shown = useRouterState({
    select: ({ resolvedLocation }) => resolvedLocation?.pathname ?? path,
  });
  useFocusOf(main, shown);
  useGoKeys(() => setHelping(true));
  return (
    <>
      <a className={styles.skip} href="#main">
        Skip to the content
      </a>
      <header className={styles.header}>
        <Link to="/" className={styles.brand} aria-label="uncaged-workflow, to the threads">
          <img src="/icon.svg" alt="" width={22} height={22} />
          <span className={styles.brandName}>uncaged-workflow</span>
        </Link>
        <nav className={styles.places} aria-label="Pages">
          {places.map(({ to, label, isHere }) => (
            <Link key={to} to={to} aria-current={isHere(path) ? "page" : undefined}>
              {label}
            </Link>
          ))}
        </nav>
        <div className={styles.tools}>
          <Button
            look="quiet"
            className={styles.keysButton}
            icon={<Keyboard />}
            aria-label="Keys"
            title="Keys (?)"
            onClick={() => setHelping(true)}
          />
          <ThemeButton />
        </div>
      </header>
      <LostNotice />
      <main ref={main} id="main" className={styles.main} tabIndex={-1}>
        <Outlet />
      </main>
      <KeysHelp isOpen={isHelping} onClose={() => setHelping(false)} />
    </>
  );
}

const themes: Record<Theme, { next: Theme; icon: typeof Sun }> = {
  system: { next: "light", icon: Monitor },
  light: { next: "dark", icon: Sun },
  dark: { next: "system", icon: Moon },
};

function ThemeButton() {
  const theme = useTheme();
  const { next, icon: Icon } = themes[theme];
  return (
    <Button
      look="quiet"
      icon={<Icon />}
      aria-label={`Theme: ${theme}. Change to ${next}`}
      title={`Theme: ${theme}`}
      onClick={() => setTheme(next)}
    />
  );
}

/** On another page the focus begins at its content, not where the page before had it. */
function useFocusOf(main: React.RefObject<HTMLElement | null>, path: string): void {
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    main.current?.focus({ preventScroll: true });
  }, [main, path]);
}

/** `g` and then a letter goes to a page; `?` tells the keys. */
function useGoKeys(onHelp: () => void): void {
  const navigate = useNavigate();
  const goneAt = useRef(0);
  const go = (to: "/" | "/workflows") => {
    if (Date.now() - goneAt.current < 1_000) void navigate({ to });
  };
  useKeys({
    "?": onHelp,
    g: () => {
      goneAt.current = Date.now();
    },
    t: () => go("/"),
    w: () => go("/workflows"),
  });
}
