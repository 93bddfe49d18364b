import type { Sink } from "../output/output.ts";

const enter = /[\r\n]/;
const codes = { interrupt: "\u0003", end: "\u0004", erase: "\u007f", back: "\b", kill: "\u0015" };

/** A line that is typed at the terminal and not shown; null when it was given up with Ctrl-C or Ctrl-D. */
export async function hiddenLine(prompt: string, notes: Sink): Promise<string | null> {
  const { stdin } = process;
  notes.write(prompt);
  stdin.setRawMode(true);
  try {
    let typed = "";
    for await (const chunk of stdin) {
      for (const char of String(chunk)) {
        if (char === codes.interrupt || (char === codes.end && typed === "")) return null;
        if (enter.test(char) || char === codes.end) return typed;
        if (char === codes.kill) typed = "";
        else if (char === codes.erase || char === codes.back)
          typed = Array.from(typed).slice(0, -1).join("");
        else typed += char;
      }
    }
    return typed;
  } finally {
    stdin.setRawMode(false);
    notes.write("\n");
  }
}
