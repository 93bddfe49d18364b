import type { Sink } from "./output.ts";
import { truncate } from "./text.ts";

const glyphs = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const tickMs = 100;
const eraseLine = "\r\u001b[2K";
const eraseLineAbove = "\u001b[1A\u001b[2K";

/** Lines on stderr that show progress; nothing where stderr is no terminal. */
export type Spinner = {
  /** Erases the lines until the next tick, so that something else can be written. */
  clear(): void;
  stop(): void;
};

/** Starts a spinner; `lines` gives its texts for each tick, none for nothing now. */
export function startSpinner(sink: Sink, dumb: boolean, lines: () => string[]): Spinner {
  if (!sink.terminal || dumb) return { clear: () => {}, stop: () => {} };
  let tick = 0;
  let shown = 0;
  const erased = (): string => {
    const text = shown > 0 ? eraseLine + eraseLineAbove.repeat(shown - 1) : "";
    shown = 0;
    return text;
  };
  const clear = () => {
    if (shown > 0) sink.write(erased());
  };
  const timer = setInterval(() => {
    tick = (tick + 1) % glyphs.length;
    const texts = lines().map((text) => truncate(`${glyphs[tick]} ${text}`, sink.columns - 1));
    const written = `${erased()}${texts.join("\n")}`;
    shown = texts.length;
    if (written !== "") sink.write(written);
  }, tickMs);
  return {
    clear,
    stop() {
      clearInterval(timer);
      clear();
    },
  };
}
