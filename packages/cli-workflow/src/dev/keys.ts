import type { Session } from "../session/session.ts";

/** The keys that a person presses at a terminal, until `close`. */
export type Keys = {
  /** Reads a line and echoes it at the cursor. Returns null after Escape or Ctrl-C. */
  ask(question: string): Promise<string | null>;
  close(): void;
};

/** Ctrl-C as a key, because a terminal in raw mode does not turn it into a signal. */
export const ctrlC = "\u0003";
const escape = "\u001b";
const enter = new Set(["\r", "\n"]);
const backspace = new Set(["\u007f", "\b"]);

/** Calls `onKey` for each key outside of {@link Keys.ask}. Returns null without a terminal. */
export function listenForKeys(
  { json, look, output }: Session,
  onKey: (key: string) => void,
): Keys | null {
  const { stdin } = process;
  if (json || !look.terminal || !stdin.isTTY) return null;
  let asked: { text: string; done: (line: string | null) => void } | null = null;
  const type = (key: string): void => {
    if (!asked) return onKey(key);
    const { text, done } = asked;
    if (enter.has(key) || key === escape || key === ctrlC) {
      asked = null;
      output.results.write("\n");
      done(enter.has(key) ? text : null);
    } else if (backspace.has(key)) {
      const [last = ""] = /.$/su.exec(text) ?? [];
      asked.text = text.slice(0, text.length - last.length);
      output.results.write("\b \b".repeat(Bun.stringWidth(last)));
    } else if (key >= " ") {
      asked.text += key;
      output.results.write(key);
    }
  };
  const onData = (bytes: Buffer): void => {
    for (const key of bytes.toString("utf8")) type(key);
  };
  stdin.setRawMode(true);
  stdin.on("data", onData);
  return {
    ask: (question) =>
      new Promise((done) => {
        asked = { text: "", done };
        output.results.write(question);
      }),
    close() {
      stdin.off("data", onData);
      stdin.setRawMode(false);
      stdin.pause();
    },
  };
}
