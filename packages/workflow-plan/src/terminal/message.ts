/** A table in a terminal. Each column is as wide as its widest text. */
export type Rows = readonly (readonly string[])[];

/** A message of the chat, distinguished by `type`. */
export type ChatMessage =
  | { type: "user"; text: string }
  | { type: "assistant"; text: string }
  | { type: "assistant-jsx"; content: Rows }
  | { type: "system"; text: string }
  | { type: "error"; text: string }
  | { type: "warning"; text: string }
  | { type: "plan-ready"; workflowName: string };

type Style = (text: string) => string;

const sgr =
  (code: number): Style =>
  (text) =>
    `\x1b[${code}m${text}\x1b[0m`;

const plain: Style = (text) => text;
const styles: Record<string, Style> = {
  ...{ user: sgr(36), system: sgr(2), error: sgr(31), warning: sgr(33), bold: sgr(1) },
};

/** Formats a message as the lines of a terminal, in colours or without. */
export function linesOf(message: ChatMessage, isColoured: boolean): string[] {
  const style = (name: string): Style => (isColoured && styles[name]) || plain;
  switch (message.type) {
    case "user":
      return message.text.split("\n").map((line) => style("user")(`> ${line}`));
    case "assistant":
      return emphasized(message.text, style("bold")).split("\n");
    case "assistant-jsx":
      return table(message.content);
    case "plan-ready":
      return [style("bold")(`${message.workflowName}: confirm it?  [Y]es  [M]odify  [N]o`)];
    default:
      return message.text.split("\n").map(style(message.type));
  }
}

const emphasized = (text: string, bold: Style): string =>
  printable(text).replace(/\*\*([^*\n]+)\*\*/g, (_, words: string) => bold(words));

/** Removes characters by which a foreign text could move the cursor or change the terminal. */
const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are the removed characters
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");

function table(rows: Rows): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries())
      widths[at] = Math.max(widths[at] ?? 0, Bun.stringWidth(printable(cell)));
  return rows.map((row) =>
    row
      .map((cell, at) => {
        const text = printable(cell);
        return text + " ".repeat((widths[at] ?? 0) - Bun.stringWidth(text));
      })
      .join("  ")
      .trimEnd(),
  );
}
