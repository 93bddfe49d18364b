import { styleText } from "node:util";
import type { Status } from "@uncaged/workflow/host";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan";

/** Gives a text a style, or leaves it as it is where colour is off. */
export type Paint = (style: Style, text: string) => string;

/** How results are shown: colour, and on a terminal no wider than it is. */
export type Look = { paint: Paint; terminal: boolean; columns: number };

export const noPaint: Paint = (_style, text) => text;

const paint: Paint = (style, text) =>
  text === "" ? "" : styleText(style, text, { validateStream: false });

/** Colour for terminals only, and neither with `--no-color`, `NO_COLOR` nor `TERM=dumb`. */
export function paintFor(wanted: boolean, terminal: boolean, env: NodeJS.ProcessEnv): Paint {
  const off = !wanted || !terminal || Boolean(env.NO_COLOR) || env.TERM === "dumb";
  return off ? noPaint : paint;
}

/** How one value of a list of states is shown. */
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

/** A state as its name; on a terminal behind its glyph. */
export const markedText = <State extends string>(
  of: Readonly<Record<State, Mark>>,
  state: State,
  terminal: boolean,
): string => (terminal ? `${of[state].glyph} ${state}` : state);

export const statusText = (status: Status, terminal: boolean): string =>
  markedText(marks, status, terminal);

export const statusStyle = (status: Status): Style => marks[status].style;
