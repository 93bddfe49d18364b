import { posix } from "node:path";
import { unknown } from "./paths.ts";
import { type Field, isUnknown, literal } from "./words.ts";

/** Callbacks for the effects of a program that the guard checks. */
export type Effects = {
  /** Executes a program with its arguments. */
  execute: (words: readonly Field[]) => void;
  /** Executes a script in another shell. */
  script: (text: Field) => void;
  /** Changes the directory, or executes a program in another directory. */
  enter: (folder: Field) => void;
  /** Removes a path and everything below it. */
  remove: (path: Field) => void;
  write: (path: Field) => void;
};

export class Refusal extends Error {}

export function refuse(reason: string): never {
  throw new Refusal(reason);
}

export const shown = (text: string): string => text.replaceAll(unknown, "…").slice(0, 200);

export const refuseUnknown = ({ source }: Field): never =>
  refuse(`${shown(source)} is not known here; write it out, quoted`);

// A shell executes the values of these variables.
const executedVariable = /^(?:BASH_ENV|PROMPT_COMMAND|PS[0-4])=/;

export function checkAssignment(text: string): void {
  if (executedVariable.test(text)) refuse(`it sets ${text.split("=")[0]}`);
}

/**
 * Programs that run the rest of their arguments: their short options with a value, and the number of arguments before
 * the program.
 */
const wrappers = new Map(
  Object.entries<{ valued?: string; before?: number }>({
    ...{ env: { valued: "u" }, exec: { valued: "a" }, nice: { valued: "n" } },
    ...{ ionice: { valued: "cnpPu" }, timeout: { valued: "sk", before: 1 } },
    ...{ time: { valued: "fo" }, stdbuf: { valued: "ioe" }, xargs: { valued: "InPLdaEs" } },
    ...{ caffeinate: { valued: "tw" }, chroot: { before: 1 }, taskset: { before: 1 } },
    ...{ flock: { valued: "wE", before: 1 }, chrt: { valued: "TPD", before: 1 } },
    ...{ strace: { valued: "abeEIoOpPsSuUX" }, watch: { valued: "nq" } },
    ...{ nsenter: { valued: "tSG" }, unshare: { valued: "RwSG" } },
    ...{ command: {}, builtin: {}, nohup: {}, setsid: {}, busybox: {}, toybox: {} },
    ...{ unbuffer: {}, fakeroot: {} },
  }),
);

const escalator = /^(?:sudo|sudoedit|doas|pkexec|su|su-exec|gosu|runuser)$/;
const foreignShell = /^(?:fish|csh|tcsh|pwsh|nu|xonsh)$/;
const netcat = /^(?:nc|ncat|netcat|nc\.openbsd|nc\.traditional)$/;
const writer =
  /^(?:tee|touch|mkdir|rmdir|rm|unlink|truncate|shred|chmod|chown|chgrp|mv|chattr|setfacl|wipefs|blkdiscard|mkswap)$/;
const copier = /^(?:cp|install|ln|rsync|scp)$/;

/** Reports the effects of a program. @throws Refusal */
export function checkProgram(name: string, args: readonly Field[], effects: Effects): void {
  if (escalator.test(name)) refuse(`${name} is not allowed`);
  if (foreignShell.test(name)) refuse(`a script of ${name} can't be checked`);
  if (wrappers.has(name)) return checkWrapped(name, args, effects);
  if (name === "find" || name === "fd") return checkFind(args, effects);
  const end = args.findIndex(({ text }) => text === "--");
  const options = end < 0 ? args : args.slice(0, end);
  const has = (form: RegExp): boolean => options.some(({ text }) => form.test(text));
  const operands = options.filter(({ text }) => !text.startsWith("-"));
  if (end >= 0) operands.push(...args.slice(end + 1));
  if (/^(?:mkfs(?:\..*)?|mke2fs|newfs)$/.test(name)) refuse(`${name} makes a file system`);
  if (netcat.test(name) && has(/^(?:--l|-[A-Za-z46]*l)/)) refuse(`${name} listens for connections`);
  if (name === "rm" && (has(/^(?:-[A-Za-z]*[rR]|--r)/) || args.some(({ splits }) => splits)))
    operands.forEach(effects.remove);
  if (name === "chmod") {
    if (args.some(({ text }) => isForAll(text))) refuse("it gives all users all rights to a file");
    if (operands[0] && isUnknown(operands[0])) refuseUnknown(operands[0]);
  }
  if (name === "dd")
    for (const arg of args) {
      const isTarget = arg.text.startsWith("of=");
      if (arg.splits || (isTarget && isUnknown(arg))) refuseUnknown(arg);
      if (isTarget) effects.write({ ...arg, text: arg.text.slice(3) });
    }
  targets(name, args, operands).forEach(effects.write);
}

function checkWrapped(name: string, args: readonly Field[], effects: Effects): void {
  const { before = 0, valued = "" } = wrappers.get(name) ?? {};
  const takesNext = new RegExp(`^-[^-${valued}]*[${valued}]$`);
  let at = 0;
  for (let field = args[at]; field; field = args[(at += 1)]) {
    const { text } = field;
    if (field.splits) refuseUnknown(field);
    const isAssigned = name === "env" && /^\w+=/.test(text);
    if (isAssigned) checkAssignment(text);
    else if (!text.startsWith("-")) break;
    if (name === "env" && /^(?:-[A-Za-z]*[SC]|--[sc])/.test(text))
      refuse(`env ${text} can't be checked`);
    if (name === "command" && /^-[vV]/.test(text)) return;
    if (text === "--") {
      at += 1;
      break;
    }
    // A long option may have its value in the next argument.
    if (/^--[a-z-]+$/.test(text)) checkWrapped(name, args.slice(at + 2), effects);
    if (takesNext.test(text)) at += 1;
  }
  const isReplacing = args.slice(0, at).some(({ text }) => /^(?:-\w*[Ii]|--rep)/.test(text));
  const command = args.slice(at + before);
  const [option, script] = command;
  if (script && /^(?:-c|--command)$/.test(option?.text ?? "")) return effects.script(script);
  if (name !== "xargs") return effects.execute(command);
  const given = isReplacing ? command.map((one, index) => (index > 0 ? input : one)) : command;
  if (given.length > 0) effects.execute([...given, input]);
}

const input: Field = { text: unknown, source: "the input of xargs or find", splits: true };

function checkFind(args: readonly Field[], effects: Effects): void {
  const first = args.findIndex(
    ({ text }) => /^[-(!]/.test(text) && !/^-(?:[HLPD]|O\d?)$/.test(text),
  );
  const paths = args.slice(0, first < 0 ? args.length : first);
  const roots = paths.filter(({ text }) => !text.startsWith("-"));
  if (roots.length === 0) roots.push(literal("."));
  if (args.some(({ text }) => text === "-files0-from")) roots.push(input);
  // A name or a depth limits the matches, but the matches may still be the whole content of the folder.
  if (args.some(({ splits, text }) => splits || text === "-delete")) roots.forEach(effects.remove);
  for (const [at, { text }] of args.entries()) {
    const next = args[at + 1];
    if (/^-f(?:print0?|printf|ls)$/.test(text) && next) effects.write(next);
    if (!/^(?:-(?:exec|ok)(?:dir)?|-x|-X|--exec(?:-batch)?)$/.test(text)) continue;
    const end = args.findIndex((one, index) => index > at && /^[;+]$/.test(one.text));
    const words = args.slice(at + 1, end < 0 ? args.length : end);
    if (!words.some((one) => one.text.includes("{}")) && /^--|x$/i.test(text)) words.push(input);
    for (const root of roots) {
      if (text.endsWith("dir")) effects.enter(root);
      effects.execute(words.map((word) => withFound(word, root)));
    }
  }
}

function withFound(word: Field, root: Field): Field {
  if (word.text === "{}") return { ...root, source: `${root.source}/{}` };
  return { ...word, text: word.text.replaceAll("{}", `${root.text}/${unknown}`) };
}

/** Returns the paths that a program writes to. */
function targets(name: string, args: readonly Field[], operands: readonly Field[]): Field[] {
  const valuesOf = (short: string, long: string): Field[] =>
    args.flatMap((arg, at) => {
      if (arg.text === `-${short}` || arg.text === `--${long}`) return args[at + 1] ?? [];
      const cut = [`--${long}=`, `-${short}`].find((start) => arg.text.startsWith(start));
      return cut === undefined ? [] : { ...arg, text: arg.text.slice(cut.length) };
    });
  if (writer.test(name)) return [...operands, ...valuesOf("t", "target-directory")];
  if (copier.test(name)) return [...operands.slice(-1), ...valuesOf("t", "target-directory")];
  if (name === "curl") return valuesOf("o", "output");
  if (name === "wget") return valuesOf("O", "output-document");
  const isInPlace = args.some(({ text }) => /^(?:-[A-Za-z]*i|--in-place)/.test(text));
  return (name === "sed" || name === "perl") && isInPlace ? [...operands] : [];
}

/** Tells whether a mode gives all users all rights. */
function isForAll(mode: string): boolean {
  if (/^[0-7]*777$/.test(mode)) return true;
  return mode.split(",").some((part) => {
    const [, who = "", rights = ""] = /^([ugoa]*)[+=]([rwxXst]+)$/.exec(part) ?? [];
    return /[oa]/.test(who) && ["r", "w", "x"].every((one) => rights.includes(one));
  });
}

/** Returns the source of a shell's script, from its arguments. */
export function scriptOf(args: readonly Field[]): { kind: "text" | "file" | "input"; at?: Field } {
  let [hasText, readsInput] = [false, false];
  let at = 0;
  for (let field = args[at]; field; field = args[(at += 1)]) {
    const { splits, text } = field;
    if (splits || text === unknown) refuseUnknown(field);
    if (!/^[-+]./.test(text) || text === "--") break;
    hasText ||= /^(?:-[a-zA-Z]*c|--command)/.test(text);
    readsInput ||= /^-[a-zA-Z]*s/.test(text);
    if (/^(?:[-+][a-zA-Z]*[oO]|--rcfile|--init-file)$/.test(text)) at += 1;
  }
  const operand = args[args[at]?.text === "--" ? at + 1 : at];
  if (!operand || (readsInput && !hasText)) return { kind: "input" };
  return { kind: hasText ? "text" : "file", at: operand };
}

export const nameOf = ({ text }: Field): string => posix.basename(text).toLowerCase();
