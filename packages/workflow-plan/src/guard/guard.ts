import { posix } from "node:path";
import { isForAll, isRecursive, operandsOf, targetsOf } from "./arguments.ts";
import { type Directories, isProtected, isSystemRoot, unknown } from "./paths.ts";
import { type Command, type Pipeline, plainText, splitCommand, type Word } from "./words.ts";

/*
 * The check of a command before it is executed: by its words, as a shell splits them. It keeps an agent from a mistake; what
 * keeps a hostile one is the sandbox.
 */

/** Why a command must not be executed; null when it may. */
export function refusalOf(command: string, directories: Directories): string | null {
  try {
    return new Check(directories).list(splitCommand(command));
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error;
    return `it can't be read: ${error.message}`;
  }
}

/** Why a file must not be written; null when it may. */
export const writeRefusal = (path: string, directories: Directories): string | null =>
  isProtected(path, directories) ? `it writes to ${path}` : null;

const shells = ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "csh", "tcsh", "su"];
const interpreters = /^(python[\d.]*|perl|ruby|node|nodejs|deno|bun|php|lua)$/;
const downloaders = ["curl", "wget", "fetch", "aria2c", "axel", "http", "https", "xh"];
const keywords = ["then", "do", "else", "elif", "if", "while", "until", "!"];
const escalators = ["sudo", "doas", "pkexec", "sudoedit"];
const netcats = ["nc", "ncat", "netcat", "nc.openbsd", "nc.traditional"];
const mostDepth = 20;

/** Programs that run the rest of their words: their options that take a value, and how many words come before it. */
const wrappers: Record<string, { valued: string; before?: number }> = {
  env: { valued: "uC" },
  command: { valued: "" },
  builtin: { valued: "" },
  exec: { valued: "a" },
  nohup: { valued: "" },
  setsid: { valued: "" },
  nice: { valued: "n" },
  ionice: { valued: "cnp" },
  timeout: { valued: "sk", before: 1 },
  time: { valued: "fo" },
  stdbuf: { valued: "ioe" },
  xargs: { valued: "InPLdaEs" },
  busybox: { valued: "" },
  toybox: { valued: "" },
  unbuffer: { valued: "" },
  caffeinate: { valued: "tw" },
};

type Variable = { text: string; isDownloaded: boolean };
/** A word after its expansion. */
type Field = { text: string; isDownloaded: boolean };

class Check {
  #cwd: string;
  readonly #home: string;
  readonly #variables: Map<string, Variable>;
  readonly #depth: number;

  constructor({ cwd, home }: Directories, variables = new Map<string, Variable>(), depth = 0) {
    this.#cwd = cwd;
    this.#home = home;
    this.#variables = variables;
    this.#depth = depth;
    if (depth > mostDepth) throw new RangeError("it is nested too deeply");
  }

  list(pipelines: readonly Pipeline[]): string | null {
    for (const pipeline of pipelines) {
      const refusal = this.#pipeline(pipeline);
      if (refusal !== null) return refusal;
    }
    return null;
  }

  get #directories(): Directories {
    return { cwd: this.#cwd, home: this.#home };
  }

  #pipeline(pipeline: Pipeline): string | null {
    let isFed = false;
    let printed: string[] = [];
    for (const command of pipeline) {
      const refusal = this.#command(command, { isFed, printed });
      if (refusal !== null) return refusal;
      isFed ||= downloadsIn([[command]]);
      const fields = this.#fields(command.words);
      printed = /^(echo|printf)$/.test(fields[0]?.text ?? "")
        ? fields.slice(1).map(({ text }) => text)
        : [];
    }
    return null;
  }

  #command(
    { group, redirects, words }: Command,
    input: { isFed: boolean; printed: string[] },
  ): string | null {
    for (const part of [...words, ...redirects.map(({ target }) => target)].flat()) {
      if (part.kind !== "script") continue;
      const refusal = this.#inner().list(part.script);
      if (refusal !== null) return refusal;
    }
    for (const { operator, target } of redirects) {
      if (!operator.includes(">")) continue;
      for (const { text } of this.#fieldsOf(target)) {
        if (isProtected(text, this.#directories)) return `it writes to ${shown(text)}`;
      }
    }
    const inGroup = group && (this.list(group) ?? (input.isFed ? this.#fedGroup(group) : null));
    if (inGroup) return inGroup;
    const documents = redirects.filter(({ operator }) => operator === "<<" || operator === "<<<");
    const texts = documents.flatMap(({ target }) => this.#fieldsOf(target.map(asQuoted)));
    return this.#run(this.#withoutAssignments(words), {
      isFed:
        input.isFed || texts.some(({ isDownloaded }) => isDownloaded) || readsDownload(redirects),
      printed: input.printed,
      scripts: [
        ...texts.map(({ text }) => text),
        ...(input.printed.length > 0 ? [input.printed.join(" ")] : []),
      ],
    });
  }

  #fedGroup(group: Pipeline[]): string | null {
    for (const [first] of group) {
      const refusal = first && this.#command(first, { isFed: true, printed: [] });
      if (refusal) return refusal;
    }
    return null;
  }

  #inner(): Check {
    return new Check(this.#directories, this.#variables, this.#depth + 1);
  }

  #script(text: string): string | null {
    return this.#inner().list(splitCommand(text));
  }

  /** Takes the variables that a command sets, and gives the words after them. */
  #withoutAssignments(words: readonly Word[]): Field[] {
    const rest = [...words];
    while (rest[0] && this.#assign(rest[0])) rest.shift();
    const fields = this.#fields(rest);
    const [first] = fields;
    if (first && /^(export|declare|typeset|local|readonly)$/.test(first.text))
      rest.forEach((word) => this.#assign(word));
    if (first?.text === "for" || first?.text === "select") {
      const [, name, , ...values] = fields;
      const text = values.map((value) => value.text).join(" ");
      if (name) this.#variables.set(name.text, { text, isDownloaded: false });
      return [];
    }
    return fields;
  }

  #assign(word: Word): boolean {
    const [first, ...others] = word;
    if (first?.kind !== "text" || first.isQuoted) return false;
    const [start, name] = /^([A-Za-z_]\w*)\+?=/.exec(first.text) ?? [];
    if (start === undefined || name === undefined) return false;
    const value: Word = [{ ...first, text: first.text.slice(start.length) }, ...others].map(
      asQuoted,
    );
    const [field] = this.#fieldsOf(value, true);
    this.#variables.set(name, field ?? { text: "", isDownloaded: false });
    return true;
  }

  #fields(words: readonly Word[]): Field[] {
    return words.flatMap((word) => this.#fieldsOf(word));
  }

  /** What becomes of a word; without quotes a variable may be several. */
  #fieldsOf(word: Word, hasTilde = true): Field[] {
    let fields: Field[] = [{ text: "", isDownloaded: false }];
    const add = (text: string, isDownloaded = false): void => {
      const last = fields.at(-1);
      if (!last) return;
      last.text += text;
      last.isDownloaded ||= isDownloaded;
    };
    for (const [at, part] of word.entries()) {
      if (part.kind === "text") {
        const isStart = at === 0 && hasTilde;
        add(isStart && !(part.isQuoted && word.length > 1) ? this.#withHome(part) : part.text);
      } else if (part.kind === "script") add(unknown, downloadsIn(part.script));
      else {
        const known =
          this.#valueOf(part.name) ??
          (part.fallback === null ? null : { text: part.fallback, isDownloaded: false });
        if (known === null) add(unknown);
        else if (part.isQuoted) add(known.text, known.isDownloaded);
        else {
          const [first = "", ...others] = known.text.trim().split(/\s+/);
          add(first, known.isDownloaded);
          for (const text of others) fields.push({ text, isDownloaded: known.isDownloaded });
        }
      }
    }
    const mayBrace = word.some(
      (part) => part.kind === "text" && !part.isQuoted && part.text.includes("{"),
    );
    if (mayBrace)
      fields = fields.flatMap((field) => braced(field.text).map((text) => ({ ...field, text })));
    return fields;
  }

  #withHome({ isQuoted, text }: { isQuoted: boolean; text: string }): string {
    if (isQuoted) return text;
    return text.replace(/^~[\w-]*(?=\/|$)/, this.#home);
  }

  #valueOf(name: string): Variable | null {
    if (name === "HOME") return { text: this.#home, isDownloaded: false };
    if (name === "PWD") return { text: this.#cwd, isDownloaded: false };
    return this.#variables.get(name) ?? null;
  }

  /** A simple command, after its expansion. */
  #run(
    fields: readonly Field[],
    input: { isFed: boolean; printed: string[]; scripts: string[] },
  ): string | null {
    const [first, ...rest] = fields;
    if (!first) return null;
    if (first.isDownloaded) return "it executes what it downloads";
    const name = posix.basename(first.text);
    if (keywords.includes(name)) return this.#run(rest, input);
    if (escalators.includes(name)) return `${name} is not allowed`;
    const wrapper = Object.hasOwn(wrappers, name) ? wrappers[name] : undefined;
    if (wrapper) return this.#wrapped(name, wrapper, rest, input);
    if (shells.includes(name)) return this.#shell(rest, input);
    if (interpreters.test(name)) {
      const readsProgram = rest.every(({ text }) => text === "-");
      if ((readsProgram && input.isFed) || rest.some(({ isDownloaded }) => isDownloaded))
        return piped;
      return null;
    }
    if (name === "eval" || name === "source" || name === "." || name === "trap") {
      if (rest.some(({ isDownloaded }) => isDownloaded)) return piped;
      if (name === "trap") return this.#script(rest[0]?.text ?? "");
      return name === "eval" ? this.#script(rest.map(({ text }) => text).join(" ")) : null;
    }
    const args = rest.map(({ text }) => text);
    if (name === "cd" || name === "pushd") {
      const [folder = this.#home] = args.filter((arg) => !arg.startsWith("-"));
      if (!folder.includes(unknown)) this.#cwd = posix.resolve(this.#cwd, folder);
      return null;
    }
    return this.#program(name, args);
  }

  #wrapped(
    name: string,
    { before = 0, valued }: { valued: string; before?: number },
    rest: readonly Field[],
    input: { isFed: boolean; printed: string[]; scripts: string[] },
  ): string | null {
    let at = 0;
    for (; at < rest.length; at += 1) {
      const text = rest[at]?.text ?? "";
      const script = /^(?:-S|--split-string=)([^]*)$/.exec(text)?.[1];
      if (name === "env" && script !== undefined) {
        return this.#script([script, ...rest.slice(at + 1).map((one) => one.text)].join(" "));
      }
      const isAssignment = name === "env" && /^\w+=/.test(text);
      if (text === "--") {
        at += 1;
        break;
      }
      if (!text.startsWith("-") && !isAssignment) break;
      if (/^-\w$/.test(text) && valued.includes(text.slice(1))) at += 1;
    }
    const fed = name === "xargs" ? input.printed.flatMap((text) => text.split(/\s+/)) : [];
    const all = [...rest.slice(at + before), ...fed.map((text) => ({ text, isDownloaded: false }))];
    return this.#run(all, input);
  }

  #shell(
    rest: readonly Field[],
    { isFed, scripts }: { isFed: boolean; scripts: string[] },
  ): string | null {
    if (isFed || rest.some(({ isDownloaded }) => isDownloaded)) return piped;
    const at = rest.findIndex(
      ({ text }) => /^-[A-Za-z]*c[A-Za-z]*$/.test(text) || text === "--command",
    );
    const own = at < 0 ? [] : rest.slice(at + 1).find(({ text }) => !text.startsWith("-"));
    for (const text of [...(own && "text" in own ? [own.text] : []), ...scripts]) {
      const refusal = this.#script(text);
      if (refusal !== null) return refusal;
    }
    return null;
  }

  #program(name: string, args: readonly string[]): string | null {
    const at = this.#directories;
    const isRoot = (path: string): boolean => isSystemRoot(path, at);
    const operands = operandsOf(args);
    if (name === "rm" && isRecursive(args)) {
      const root = operands.find(isRoot);
      if (root !== undefined) return `it removes ${shown(root)} and all below it`;
    }
    if (name === "find" || name === "fd") {
      const refusal = this.#find(args);
      if (refusal !== null) return refusal;
    }
    if (name === "mke2fs" || /^mkfs(\.|$)/.test(name))
      return `${name} makes a file system on a disk`;
    if (
      netcats.includes(name) &&
      args.some((arg) => arg === "--listen" || /^-[A-Za-z46]*l/.test(arg))
    )
      return `${name} listens for connections`;
    if (name === "chmod" && args.some(isForAll)) return "it gives everybody all rights to a file";
    if (name === "dd") {
      const target = args.find((arg) => arg.startsWith("of="))?.slice(3) ?? "";
      const path = target.includes(unknown) ? target : posix.resolve(this.#cwd, target || ".");
      if (target !== "" && /^\/dev\/(?!null$|zero$|stdout$|stderr$|full$|fd\/|tty$)/.test(path))
        return `it writes to ${shown(target)}`;
    }
    const written = targetsOf(name, args, operands).find((path) => isProtected(path, at));
    return written === undefined ? null : `it writes to ${shown(written)}`;
  }

  #find(args: readonly string[]): string | null {
    const first = args.findIndex((arg) => /^[-(!]/.test(arg) && !/^-([HLP]|O\d)$/.test(arg));
    const end = first < 0 ? args.length : first;
    const paths = args.slice(0, end).filter((arg) => !arg.startsWith("-"));
    const root = (paths.length > 0 ? paths : ["."]).find((path) =>
      isSystemRoot(path, this.#directories),
    );
    if (root === undefined) return null;
    // A depth or a name bounds what is found, not what is searched: it may be all.
    if (args.includes("-delete")) return `it deletes what is found below ${shown(root)}`;
    const exec = args.findIndex((arg) => /^-(exec|execdir|ok|okdir)$/.test(arg));
    if (exec < 0) return null;
    const words = args
      .slice(exec + 1)
      .map((arg) => ({ text: arg.replaceAll("{}", root), isDownloaded: false }));
    return this.#run(words, { isFed: false, printed: [], scripts: [] });
  }
}

const piped = "it executes what it downloads";

const asQuoted = <Value extends { isQuoted: boolean }>(part: Value): Value => ({
  ...part,
  isQuoted: true,
});

const shown = (path: string): string => path.replaceAll(unknown, "…").slice(0, 200);

const braces = /\{([^{}]*,[^{}]*)\}/;
const mostBraces = 1000;

function braced(text: string): string[] {
  const all = [text];
  for (let at = 0; at < all.length && all.length < mostBraces; ) {
    const one = all[at] ?? "";
    const found = braces.exec(one);
    if (!found) at += 1;
    else {
      const [whole, inner = ""] = found;
      all.splice(at, 1, ...inner.split(",").map((part) => one.replace(whole, () => part)));
    }
  }
  return all;
}

/** Whether something in a script downloads. */
function downloadsIn(pipelines: readonly Pipeline[]): boolean {
  return pipelines.flat().some(({ group, words }) => {
    const names = words.map((word) => posix.basename(plainText(word) ?? ""));
    const isDownload = downloaders.includes(names.find((name) => !isPrefix(name)) ?? "");
    const inner = words.flat().some((part) => part.kind === "script" && downloadsIn(part.script));
    return isDownload || inner || (group !== null && downloadsIn(group));
  });
}

const isPrefix = (name: string): boolean =>
  keywords.includes(name) || Object.hasOwn(wrappers, name) || /^\w*=|^-|^\d/.test(name);

const readsDownload = (redirects: Command["redirects"]): boolean =>
  redirects.some(
    ({ operator, target }) =>
      operator === "<" && target.some((part) => part.kind === "script" && downloadsIn(part.script)),
  );
