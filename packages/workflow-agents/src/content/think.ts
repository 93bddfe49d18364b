/** A text, and the thinking that was separated from it. */
type Split = { text: string; thinking: string };

const tags = ["<think>", "<thinking>"];

/** Splits a streamed text that begins with thinking in tags, as sent by servers without support for thinking. */
export class ThinkTags {
  #held = "";
  #state: "start" | "within" | "after" | "text" = "start";
  #end = "";

  split(piece: string): Split {
    if (this.#state === "text") return { text: piece, thinking: "" };
    if (this.#state === "after") return this.#after(piece);
    this.#held += piece;
    if (this.#state === "start") {
      const head = this.#held.trimStart().toLowerCase();
      const tag = tags.find((one) => head.startsWith(one));
      if (tag === undefined) {
        return tags.some((one) => one.startsWith(head)) ? nothing : this.#asText(this.#held);
      }
      this.#held = this.#held.trimStart().slice(tag.length);
      this.#state = "within";
      this.#end = tag.replace("<", "</");
    }
    const end = this.#end;
    const at = this.#held.toLowerCase().indexOf(end);
    if (at >= 0) {
      const thinking = this.#held.slice(0, at);
      return { ...this.#after(this.#held.slice(at + end.length)), thinking };
    }
    // The rest of the buffer may be the start of the closing tag.
    const sure = Math.max(0, this.#held.length - end.length + 1);
    const thinking = this.#held.slice(0, sure);
    this.#held = this.#held.slice(sure);
    return { text: "", thinking };
  }

  /** Returns the text that is still buffered at the end. */
  rest(): Split {
    const held = this.#held;
    if (this.#state === "within") {
      this.#held = "";
      return { text: "", thinking: held };
    }
    return this.#asText(held);
  }

  #after(piece: string): Split {
    const text = piece.trimStart();
    this.#held = "";
    this.#state = text === "" ? "after" : "text";
    return { text, thinking: "" };
  }

  #asText(text: string): Split {
    this.#state = "text";
    this.#held = "";
    return { text, thinking: "" };
  }
}

const nothing: Split = { text: "", thinking: "" };

/**
 * Returns a text without the thinking in tags before it. The opening tag may be missing, because a prompt template may
 * already contain it.
 */
export function withoutThinking(text: string): string {
  const [end] = /<\/think(ing)?>/i.exec(text) ?? [];
  return end === undefined ? text : text.slice(text.indexOf(end) + end.length);
}

/**
 * Splits an answer whose thinking lacks the opening tag, because the prompt template already contains it. The closing
 * tag must be on its own line. Returns any other text unchanged.
 */
export function splitThinking(text: string): Split {
  const { index = -1, 0: end = "" } = /(?<=^|\n)[ \t]*<\/think>[ \t]*(\n|$)/.exec(text) ?? {};
  const thinking = text.slice(0, Math.max(0, index));
  const isQuoted = (thinking.match(/^\s*```/gm)?.length ?? 0) % 2 === 1;
  if (index < 0 || isQuoted || /<think/i.test(thinking)) return { text, thinking: "" };
  return { text: text.slice(index + end.length).trimStart(), thinking };
}
