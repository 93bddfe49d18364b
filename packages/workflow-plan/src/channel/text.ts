import { cut } from "../plan/cut.ts";

/** The maximum length of a message in characters. */
export const longestMessage = 4096;

/** Splits a text into messages of a sendable length: at a newline, else at a space, else anywhere. */
export function messagesOf(text: string, most = longestMessage): string[] {
  const messages: string[] = [];
  let rest = text.toWellFormed();
  while (rest.length > most) {
    const at = cutAt(rest, most);
    messages.push(rest.slice(0, at));
    rest = rest.slice(at).replace(/^[\n ]/, "");
  }
  messages.push(rest);
  return messages.filter((message) => message.trim() !== "");
}

function cutAt(text: string, most: number): number {
  for (const sign of ["\n", " "]) {
    const at = text.lastIndexOf(sign, most);
    if (at > 0) return at;
  }
  return cut(text, most).length;
}

const reserved = /[_*[\]()~`>#+\-=|{}.!\\]/g;
const markup = /```(?:\w*\n)?([\s\S]+?)```|`([^`\n]+)`|\*\*([^*\n]+)\*\*/g;

/** Converts Markdown's code and bold face to Telegram's MarkdownV2; all other text is escaped. */
export function markdownV2(text: string): string {
  let result = "";
  let from = 0;
  for (const { 0: whole, 1: block, 2: code, 3: bold, index } of text.matchAll(markup)) {
    result += escaped(text.slice(from, index));
    if (block !== undefined) result += `\`\`\`\n${escapedCode(block)}\`\`\``;
    else if (code !== undefined) result += `\`${escapedCode(code)}\``;
    else result += `*${escaped(bold ?? "")}*`;
    from = index + whole.length;
  }
  return result + escaped(text.slice(from));
}

const escaped = (text: string): string => text.replace(reserved, "\\$&");
const escapedCode = (text: string): string => text.replace(/[`\\]/g, "\\$&");
