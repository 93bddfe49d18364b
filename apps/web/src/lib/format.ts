import { useEffect, useState } from "react";

const grouped = new Intl.NumberFormat("en-US");
const cents = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});
const dash = "–";

export const count = (value: number): string => grouped.format(value);

/** A short token count: `840`, `12.3 k`, `1.20 M`; a dash for none. */
export function tokens(value: number): string {
  if (value === 0) return dash;
  if (value < 1_000) return String(value);
  if (value < 999_950) return `${(value / 1_000).toFixed(1)} k`;
  return `${(value / 1_000_000).toFixed(2)} M`;
}

/** A fraction of one as a percentage: `92.5%`; a dash for null. */
export const share = (value: number | null): string =>
  value === null ? dash : `${Math.round(value * 1000) / 10}%`;

/** US dollars, with more digits for smaller amounts; a dash for none. */
export function cost(value: number): string {
  if (value === 0) return dash;
  if (value < 0.0001) return "<$0.0001";
  if (value < 0.1) return `$${value.toFixed(4)}`;
  return `$${cents.format(value)}`;
}

/** A size in characters or bytes: `840 B`, `52.3 KB`, `1.2 MB`. */
export function size(value: number): string {
  if (value < 1_024) return `${value} B`;
  if (value < 1_024 * 1_024) return `${(value / 1_024).toFixed(1)} KB`;
  return `${(value / 1_024 / 1_024).toFixed(1)} MB`;
}

/** A noun with its count: `1 step`, `12 steps`. */
export const counted = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? "" : "s"}`;

/** A line of Markdown without its marks: `# **Head**` as `Head`. */
export const withoutMarks = (line: string): string =>
  line
    .replace(/^(?:#{1,6}|>|[-*+])\s+/, "")
    .replace(/(\*\*|__|`)(.+?)\1/g, "$2")
    .replace(/\[([^\]]+)\]\([^)\s]*\)/g, "$1");

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A duration in milliseconds, in at most two units: `840 ms`, `12.3 s`, `4 m 05 s`, `2 h 10 m`. */
export function duration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < second) return `${whole} ms`;
  if (whole < minute) return `${(Math.floor(whole / 100) / 10).toFixed(1)} s`;
  if (whole < hour) return pair(whole, minute, "m", second, "s");
  if (whole < day) return pair(whole, hour, "h", minute, "m");
  return pair(whole, day, "d", hour, "h");
}

function pair(ms: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)} ${bigName} ${String(rest).padStart(2, "0")} ${smallName}`;
}

/** The age of a moment in one unit: `now`, `12 s ago`, `3 h ago`, `5 d ago`. */
export function ago(moment: number, now: number): string {
  const ms = now - moment;
  if (ms < 5 * second) return "now";
  if (ms < minute) return `${Math.floor(ms / second)} s ago`;
  if (ms < hour) return `${Math.floor(ms / minute)} m ago`;
  if (ms < day) return `${Math.floor(ms / hour)} h ago`;
  return `${Math.floor(ms / day)} d ago`;
}

const dateAndTime = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "medium",
});

export const moment = (at: number): string => dateAndTime.format(at);

/** The role name of sleeps in the console. The engine uses `__wait__` for both sleeps and questions. */
export const sleepRole = "__sleep__";

/** The visible name of a role. The step's meta distinguishes the engine's roles. */
export function roleName(role: string, meta: Readonly<Record<string, unknown>> = {}): string {
  if (role === sleepRole || (role === "__wait__" && meta.sleep === true)) return "Sleep";
  if (role === "__wait__") return "Question";
  if (role !== "__input__") return role;
  if (meta.timedOut === true) return meta.sleep === true ? "Woken" : "Time is up";
  return meta.for === "rerun" ? "Rerun" : "Answer";
}

/** The time until a moment: `in 4 m 05 s`, or `now` if it has passed. */
export const until = (at: number, now: number): string =>
  at <= now ? "now" : `in ${duration(Math.ceil((at - now) / second) * second)}`;

/** The current time, updated every `everyMs` milliseconds while `isAsked`. */
export function useNow(everyMs: number, isAsked = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isAsked) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isAsked]);
  return now;
}
