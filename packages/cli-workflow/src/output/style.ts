import { styleText } from "node:util";
import type { Status } from "@uncaged/workflow/host";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan";

/** Applies a style to a text, or returns it unchanged if colour is off. */
export type Paint = (style: Style, text: string) => string;

/** Presentation of results: colour, and the width of the terminal. */
export type Look = { paint: Paint; terminal: boolean; columns: number };

export const noPaint: Paint = (_style, text) => text;

const paint: Paint = (style, text) =>
  text === "" ? "" : styleText(style, text, { validateStream: false });

/** Tells whether to use colour: only on terminals, and not with `--no-color`, `NO_COLOR` or `TERM=dumb`. */
export function paintFor(wanted: boolean, terminal: boolean, env: NodeJS.ProcessEnv): Paint {
  const off = !wanted || !terminal || Boolean(env.NO_COLOR) || env.TERM === "dumb";
  return off ? noPaint : paint;
}

/** Presentation of one state. */
export type Mark = { glyph: string; style: Style };

const marks: Record<Status, Mark> = {
  running: { glyph: "●", style: "cyan" },
  paused: { glyph: "‖", style: "yellow" },
  waiting: { glyph: "?", style: "yellow" },
  completed: { glyph: "✔", style: "green" },
  failed: { glyph: "✘", style: "red" },
  killed: { glyph: "■", style: "red" },
  interrupted: { glyph: "!", style: "yellow" },
  moved: { glyph: "→", style: "dim" },
  corrupt: { glyph: "✘", style: "magenta" },
};

/** Returns the name of a state, on a terminal after its glyph. */
export const markedText = <State extends string>(
  of: Readonly<Record<State, Mark>>,
  state: State,
  terminal: boolean,
): string => (terminal ? `${of[state].glyph} ${state}` : state);

export const statusText = (status: Status, terminal: boolean): string =>
  markedText(marks, status, terminal);

export const statusStyle = (status: Status): Style => marks[status].style;
