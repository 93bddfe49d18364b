import { styleText } from "node:util";

/** The styles in use. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan";

/** Gives a text a style, or leaves it as it is where colour is off. */
export type Paint = (style: Style, text: string) => string;

/** Leaves every text as it is. */
export const noPaint: Paint = (_style, text) => text;

const paint: Paint = (style, text) =>
  text === "" ? "" : styleText(style, text, { validateStream: false });

type Environment = Readonly<Record<string, string | undefined>>;

/** Colour for terminals only, and neither with `--no-color`, `NO_COLOR` nor `TERM=dumb`. */
export function paintFor(wanted: boolean, terminal: boolean, env: Environment): Paint {
  const off = !wanted || !terminal || Boolean(env.NO_COLOR) || env.TERM === "dumb";
  return off ? noPaint : paint;
}
