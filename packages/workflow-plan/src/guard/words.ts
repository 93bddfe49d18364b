/*
 * A shell's command line as a shell splits it: pipelines of commands, their words and redirections. Nothing is
 * expanded; what a substitution runs is split in the same way. Of compound commands (`if`, `for`, `case`) the commands
 * stand one after the other, with the keywords before them.
 */

/** A part of a word. `script` is what a substitution runs. */
export type Part =
  | { kind: "text"; text: string; isQuoted: boolean }
  | { kind: "variable"; name: string; fallback: string | null; isQuoted: boolean }
  | { kind: "script"; script: Pipeline[]; isQuoted: boolean };

export type Word = Part[];

/** `operator` is `>`, `>>`, `<`, …; that of a here-document is `<<`, with its text as the target. */
export type Redirect = { operator: string; target: Word };

/** A simple command, or a group in `( )` or `{ }`. */
export type Command = { words: Word[]; redirects: Redirect[]; group: Pipeline[] | null };

export type Pipeline = Command[];

/** Splits a command line. @throws SyntaxError where a quote or a substitution has no end. */
export const splitCommand = (text: string): Pipeline[] => new Splitter(text).list(null);

const operators = ["&&", "||", ";;&", ";;", ";&", "|&", ";", "&", "|", "\n"];
const redirects = ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|", "<", ">"];
const blank = /[ \t\r]/;
const endOfWord = /[\s;&|()<>]/;
const nameForm = /^(?:[A-Za-z_]\w*|[0-9@*#?$!-])/;

type HereDocument = { redirect: Redirect; end: string; isLiteral: boolean; isIndented: boolean };

class Splitter {
  readonly #text: string;
  #at = 0;
  #documents: HereDocument[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** Pipelines up to the end of the text, or of the group. */
  list(end: ")" | "}" | null): Pipeline[] {
    const pipelines: Pipeline[] = [];
    let pipeline: Pipeline = [];
    let command = emptyCommand();
    const endCommand = (): void => {
      if (command.words.length + command.redirects.length > 0 || command.group)
        pipeline.push(command);
      command = emptyCommand();
    };
    const endPipeline = (): void => {
      endCommand();
      if (pipeline.length > 0) pipelines.push(pipeline);
      pipeline = [];
    };
    for (;;) {
      this.#skipBlanks();
      const next = this.#text[this.#at];
      if (next === undefined) {
        if (end !== null) throw new SyntaxError(`there is no ${end}`);
        endPipeline();
        return pipelines;
      }
      const redirect = redirects.find((one) => this.#isNext(one));
      const operator = operators.find((one) => this.#isNext(one));
      if (redirect !== undefined && !this.#isNext("<(") && !this.#isNext(">(")) {
        command.redirects.push(this.#redirect(redirect));
      } else if (operator !== undefined) {
        this.#at += operator.length;
        if (operator === "\n") this.#readDocuments();
        if (operator === "|" || operator === "|&") endCommand();
        else endPipeline();
      } else if (next === ")") {
        this.#at += 1;
        endPipeline();
        if (end === ")") return pipelines;
      } else if (this.#isNext("()")) {
        // What a function is called: its body follows.
        this.#at += 2;
        command = emptyCommand();
      } else if (next === "(") {
        this.#at += 1;
        command.group = [...(command.group ?? []), ...this.list(")")];
      } else {
        const word = this.#word();
        const plain = plainText(word);
        const isFirst = command.words.length === 0;
        if (plain === "}" && isFirst && end === "}") {
          endPipeline();
          return pipelines;
        }
        if (plain === "{" && isFirst) command.group = this.list("}");
        else if (
          plain === null ||
          !/^\d+$/.test(plain) ||
          !/[<>]/.test(this.#text[this.#at] ?? "")
        ) {
          command.words.push(word);
        }
      }
    }
  }

  #isNext = (text: string): boolean => this.#text.startsWith(text, this.#at);

  #skipBlanks(): void {
    for (;;) {
      if (this.#isNext("\\\n")) this.#at += 2;
      else if (blank.test(this.#text[this.#at] ?? "")) this.#at += 1;
      else if (this.#text[this.#at] === "#") {
        const end = this.#text.indexOf("\n", this.#at);
        this.#at = end < 0 ? this.#text.length : end;
      } else return;
    }
  }

  #redirect(operator: string): Redirect {
    this.#at += operator.length;
    this.#skipBlanks();
    const target = this.#word();
    const redirect = { operator, target };
    if (operator === "<<" || operator === "<<-") {
      redirect.operator = "<<";
      const isLiteral = target.some((part) => part.isQuoted);
      const end = target.map((part) => (part.kind === "text" ? part.text : "")).join("");
      this.#documents.push({ redirect, end, isLiteral, isIndented: operator === "<<-" });
    }
    return redirect;
  }

  #readDocuments(): void {
    for (const { end, isIndented, isLiteral, redirect } of this.#documents.splice(0)) {
      const lines: string[] = [];
      while (this.#at < this.#text.length) {
        const found = this.#text.indexOf("\n", this.#at);
        const stop = found < 0 ? this.#text.length : found;
        const line = this.#text.slice(this.#at, stop);
        this.#at = stop + 1;
        if ((isIndented ? line.replace(/^\t+/, "") : line) === end) break;
        lines.push(line);
      }
      const body = lines.join("\n");
      redirect.target = isLiteral
        ? [{ kind: "text", text: body, isQuoted: true }]
        : new Splitter(body).#quoted(null);
    }
  }

  #word(): Word {
    const word: Word = [];
    let text = "";
    const endText = (): void => {
      if (text !== "") word.push({ kind: "text", text, isQuoted: false });
      text = "";
    };
    for (;;) {
      const next = this.#text[this.#at];
      const isProcess = this.#isNext("<(") || this.#isNext(">(");
      if (next === undefined || (endOfWord.test(next) && !isProcess)) break;
      if (isProcess) {
        endText();
        this.#at += 2;
        word.push({ kind: "script", script: this.list(")"), isQuoted: true });
      } else if (next === "\\") {
        endText();
        const escaped = this.#text[this.#at + 1] ?? "";
        this.#at += 2;
        if (escaped !== "\n") word.push({ kind: "text", text: escaped, isQuoted: true });
      } else if (next === "'") {
        endText();
        word.push({ kind: "text", text: this.#until("'", 1), isQuoted: true });
      } else if (this.#isNext("$'")) {
        endText();
        word.push({ kind: "text", text: this.#ansi(), isQuoted: true });
      } else if (next === '"' || this.#isNext('$"')) {
        endText();
        this.#at += next === '"' ? 1 : 2;
        const parts = this.#quoted('"');
        word.push(...(parts.length === 0 ? [emptyText] : parts));
      } else if (next === "$" || next === "`") {
        endText();
        word.push(this.#expansion(false));
      } else {
        text += next;
        this.#at += 1;
      }
    }
    endText();
    return word;
  }

  /** The parts of a text in double quotes, or of a here-document, which has none around it. */
  #quoted(end: '"' | null): Word {
    const parts: Word = [];
    let text = "";
    const endText = (): void => {
      if (text !== "") parts.push({ kind: "text", text, isQuoted: true });
      text = "";
    };
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined && end !== null) throw new SyntaxError("a quote has no end");
      if (next === undefined || next === end) {
        this.#at += 1;
        endText();
        return parts;
      }
      const after = this.#text[this.#at + 1] ?? "";
      if (next === "\\" && '$`"\\\n'.includes(after) && after !== "") {
        text += after === "\n" ? "" : after;
        this.#at += 2;
      } else if (next === "`" || (next === "$" && /[\w({@*#?$!-]/.test(after))) {
        endText();
        parts.push(this.#expansion(true));
      } else {
        text += next;
        this.#at += 1;
      }
    }
  }

  /** What begins with `$` or a backquote. */
  #expansion(isQuoted: boolean): Part {
    if (this.#text[this.#at] === "`") {
      const script = this.#until("`", 1, true).replace(/\\([$`\\])/g, "$1");
      return { kind: "script", script: splitCommand(script), isQuoted };
    }
    if (this.#isNext("$(")) {
      this.#at += 2;
      return { kind: "script", script: this.list(")"), isQuoted };
    }
    if (this.#isNext("${")) return this.#parameter(isQuoted);
    const [name] = nameForm.exec(this.#text.slice(this.#at + 1)) ?? [];
    this.#at += 1 + (name?.length ?? 0);
    if (name === undefined) return { kind: "text", text: "$", isQuoted };
    return { kind: "variable", name, fallback: null, isQuoted };
  }

  /** `${name}`, `${name:-fallback}` and the like. What it may run is run in place of the name. */
  #parameter(isQuoted: boolean): Part {
    const start = this.#at + 2;
    let depth = 0;
    let end = this.#at + 1;
    for (; end < this.#text.length; end += 1) {
      const next = this.#text[end];
      if (next === "\\") end += 1;
      else if (next === "{") depth += 1;
      else if (next === "}" && --depth === 0) break;
    }
    if (end >= this.#text.length) throw new SyntaxError("${ has no end");
    const inner = this.#text.slice(start, end);
    this.#at = end + 1;
    const [name = ""] = /^[!#]?\w*/.exec(inner) ?? [];
    const rest = inner.slice(name.length);
    const scripts = new Splitter(rest).#quoted(null).filter((part) => part.kind === "script");
    if (scripts[0]) return { ...scripts[0], isQuoted };
    const [, fallback] = /^:?[-=]([^]*)$/.exec(rest) ?? [];
    return { kind: "variable", name, fallback: fallback ?? null, isQuoted };
  }

  #until(end: string, from: number, hasEscapes = false): string {
    const start = this.#at + from;
    let at = start;
    while (at < this.#text.length && this.#text[at] !== end) {
      at += hasEscapes && this.#text[at] === "\\" ? 2 : 1;
    }
    if (at >= this.#text.length) throw new SyntaxError(`there is no second ${end}`);
    this.#at = at + 1;
    return this.#text.slice(start, at);
  }

  /** `$'…'`, with the escapes of C. */
  #ansi(): string {
    this.#at += 1;
    const raw = this.#until("'", 1, true);
    return raw.replace(
      /\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|[0-7]{1,3}|[^])/g,
      (_, code: string) => {
        if (/^[xu]./.test(code)) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
        if (/^[0-7]/.test(code)) return String.fromCharCode(Number.parseInt(code, 8));
        return escapes[code] ?? code;
      },
    );
  }
}

const escapes: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  e: "\u001b",
  a: "\u0007",
  b: "\b",
};

const emptyText: Part = { kind: "text", text: "", isQuoted: true };

const emptyCommand = (): Command => ({ words: [], redirects: [], group: null });

/** The text of a word that has neither quotes nor expansions; null for any other one. */
export function plainText(word: Word): string | null {
  const [part] = word;
  return word.length === 1 && part?.kind === "text" && !part.isQuoted ? part.text : null;
}
