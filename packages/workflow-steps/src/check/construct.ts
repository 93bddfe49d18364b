import { shown } from "./fault.ts";
import { itemsOf } from "./form.ts";
import { aStep, type CheckedStep } from "./subject.ts";

/** A Loop goes over a `source` or runs `while`, and then it is serial and has a limit. */
export function loopsOverOneThing({ type, fields, error }: CheckedStep): void {
  if (type !== "Loop") return;
  const { source, mode, maxIterations } = fields;
  if (fields.while === undefined) {
    if (source === undefined) error([], "a Loop needs source or while");
    return;
  }
  if (source !== undefined) error(["while"], "a Loop has source or while, not both");
  if (mode === "parallel") error(["mode"], "a Loop with while can't be parallel");
  if (maxIterations === undefined) error([], "a Loop with while needs maxIterations");
}

/** `ELSE` is the last of the cases. */
export function hasElseLast({ type, fields, error }: CheckedStep): void {
  if (type !== "Branch") return;
  const cases = itemsOf(fields.cases);
  for (const [index, pair] of cases.entries()) {
    if (itemsOf(pair)[0] !== "ELSE" || index === cases.length - 1) continue;
    error(["cases", index], "ELSE must be the last of the cases");
  }
}

/** A Set and a Write say where they write, unless something else is their work. */
export function hasTarget({ type, fields, error, warning }: CheckedStep): void {
  if (type !== "Set" && type !== "Write") return;
  const { target, value, out, children } = fields;
  const hasOther = out !== undefined || (type === "Set" && children !== undefined);
  if (target === undefined) {
    if (!hasOther) error([], `${aStep(type)} needs a target`);
    else if (value !== undefined) warning(["value"], "value has no effect without target");
  } else if (value === undefined) {
    warning([], `value is missing, so ${shown(target)} gets nothing`);
  }
}
