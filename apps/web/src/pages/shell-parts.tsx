/* The parts of the header that load after the content of the page. */
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { CircleCheck, Keyboard, Unplug } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useConnection } from "../lib/connection.ts";
import type { Connection } from "../lib/hub.ts";
import { useInbox } from "../lib/inbox.ts";
import { useHostEvents } from "../lib/lists.ts";
import { useNotices } from "../lib/notices.ts";
import { serverQuery } from "../lib/workflows.ts";
import { waiting } from "../ui/page.tsx";
import { KeysDialog } from "../ui/dialog.tsx";
import { density, theme } from "../ui/appearance.ts";
import { MenuAt, MenuChoice, MenuGroup, MenuItem } from "../ui/menu.tsx";
import { sentence } from "../ui/states.tsx";

/** The number of waiting questions, decisions and plans; hidden at zero. */
export function WaitingBadge() {
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

const rights = {
  read: { text: "read only", title: "The token has the role read: it changes nothing" },
  answer: {
    text: "answers only",
    title: "The token has the role answer: it only answers questions",
  },
} as const;

/** The rights of the token; hidden for an unrestricted token. */
export function TokenRights() {
  const { data: server } = useQuery(serverQuery);
  if (!server || server.role === "operate") return null;
  const { text, title } = rights[server.role];
  return (
    <span
      className="flex-none rounded-full bg-amber-soft px-2 py-0.5 text-small font-semibold whitespace-nowrap text-amber"
      title={title}
    >
      {text}
    </span>
  );
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

/** Minimum duration of a reported connection loss, in milliseconds. Reconnects are shorter. */
const patienceMs = 700;
const gladMs = 2_500;

/** Keeps the lists up to date, and reports the loss of the server connection and its return. */
export function LostNotice() {
  useHostEvents();
  const connection = useConnection();
  const [shown, setShown] = useState<Parameters<typeof noticeOf>[0] | null>(null);
  useEffect(() => {
    const isOpen = connection === "open";
    if (isOpen) setShown((before) => before && "back");
    const timer = setTimeout(
      () => setShown(isOpen ? null : connection),
      isOpen ? gladMs : patienceMs,
    );
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

const keys: [string, string][] = [
  ["/", "Search"],
  ["j  k", "Next, previous"],
  ["Enter", "Open it"],
  ["a  r", "In the inbox: to Approve, to Reject; Enter sends it"],
  ["n", "Start a thread, make a plan"],
  ["x  X", "Select a thread, select up to it"],
  ["i", "Details of a thread"],
  ["c", "Copy the id of a thread"],
  ["← →", "Fold and unfold a row of a trace"],
  ["f  r", "Fork, or rerun, from the selected row"],
  ["+  -  0", "Zoom the times of a trace"],
  ["g  t", "Go to the threads"],
  ["g  i", "Go to the inbox"],
  ["g  w", "Go to the workflows"],
  ["g  p", "Go to the plans"],
  ["g  e", "Go to the evals"],
  ["?", "These keys"],
  ["Esc", "Close a dialog or menu"],
];

type HelpProps = { isOpen: boolean; onClose: () => void };

export const KeysHelp = (props: HelpProps) => <KeysDialog title="Keys" keys={keys} {...props} />;

type Props = {
  anchor: () => HTMLElement | null;
  isOpen: boolean;
  onClose: () => void;
  onKeys: () => void;
};

/** The menu of the theme, the density and the keys. */
export function AppearanceMenu({ anchor, isOpen, onClose, onKeys }: Props) {
  return (
    <MenuAt anchor={anchor} label="Appearance" isOpen={isOpen} onClose={onClose}>
      <SettingGroup
        label="Theme"
        values={theme.values}
        current={theme.use()}
        onChoose={theme.set}
      />
      <SettingGroup
        label="Density"
        values={density.values}
        current={density.use()}
        onChoose={density.set}
      />
      <MenuGroup label="Help">
        <MenuItem icon={<Keyboard />} onClick={onKeys}>
          Keys
        </MenuItem>
      </MenuGroup>
    </MenuAt>
  );
}

type SettingProps<Value> = {
  label: string;
  values: readonly Value[];
  current: Value;
  onChoose: (value: Value) => void;
};

const SettingGroup = <Value extends string>(props: SettingProps<Value>) => (
  <MenuGroup label={props.label}>
    {props.values.map((value) => (
      <MenuChoice
        key={value}
        isOn={value === props.current}
        stays
        onClick={() => props.onChoose(value)}
      >
        {sentence(value)}
      </MenuChoice>
    ))}
  </MenuGroup>
);
