/* What the arguments of some programs mean. */

/** The words of a program that are no options. */
export function operandsOf(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  if (end < 0) return args.filter((arg) => !arg.startsWith("-"));
  return [...args.slice(0, end).filter((arg) => !arg.startsWith("-")), ...args.slice(end + 1)];
}

/** Whether `rm` removes folders. */
export function isRecursive(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const options = args.slice(0, end < 0 ? args.length : end);
  return options.some((arg) => /^-[A-Za-z]*[rR]/.test(arg) || arg.startsWith("--r"));
}

/** Whether a mode gives everybody all rights. */
export function isForAll(mode: string): boolean {
  if (/^[0-7]*777$/.test(mode)) return true;
  return mode.split(",").some((part) => {
    const [, who = "", rights = ""] = /^([ugoa]*)[+=]([rwxXst]+)$/.exec(part) ?? [];
    const isAll = who.includes("a") || ["u", "g", "o"].every((one) => who.includes(one));
    return (isAll || who.includes("o")) && ["r", "w", "x"].every((one) => rights.includes(one));
  });
}

const allOperands =
  "tee touch mkdir rmdir rm unlink truncate shred chmod chown chgrp mv chattr setfacl wipefs blkdiscard".split(
    " ",
  );
const lastOperand = ["cp", "install", "ln", "rsync", "scp"];

/** The paths that a program writes to. */
export function targetsOf(
  name: string,
  args: readonly string[],
  operands: readonly string[],
): string[] {
  const valueOf = (short: string, long: string): string[] =>
    args.flatMap((arg, at) => {
      if (arg === `-${short}` || arg === `--${long}`) return args[at + 1] ?? [];
      if (arg.startsWith(`--${long}=`)) return arg.slice(long.length + 3);
      return arg.startsWith(`-${short}`) ? arg.slice(2) : [];
    });
  if (allOperands.includes(name)) return [...operands, ...valueOf("t", "target-directory")];
  if (lastOperand.includes(name))
    return [...operands.slice(-1), ...valueOf("t", "target-directory")];
  if (name === "dd") return args.filter((arg) => arg.startsWith("of=")).map((arg) => arg.slice(3));
  if (name === "curl") return valueOf("o", "output");
  if (name === "wget") return valueOf("O", "output-document");
  const isInPlace = args.some((arg) => /^(-[A-Za-z]*i|--in-place)/.test(arg));
  return (name === "sed" || name === "perl") && isInPlace ? [...operands] : [];
}
