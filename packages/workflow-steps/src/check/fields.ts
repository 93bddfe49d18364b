import { showPath } from "./fault.ts";
import { fields, hasField, isField } from "./field.ts";
import { misfitsIn } from "./form.ts";
import { aStep, type StepRule } from "./subject.ts";

/** The fields of a step have the form that its type asks for, and none is missing. */
export const hasItsFields: StepRule = ({ type, fields: given, error }) => {
  if (type === null) return;
  for (const { name, form, isRequired, on } of fields) {
    if (!on.has(type)) continue;
    const value = given[name];
    if (value !== undefined) {
      for (const { path, text } of misfitsIn(form, value, [name])) error(path, text);
    } else if (isRequired) error([], `${showPath([name])} is missing: ${aStep(type)} needs it`);
  }
};

/** A field that steps of this type do not have says nothing. */
export const hasNoIdleField: StepRule = ({ type, fields: given, error, warning }) => {
  if (type === null) return;
  for (const name of Object.keys(given)) {
    if (hasField(type, name) || !isField(name)) continue;
    if (type !== "Stop") warning([name], `${name} has no effect on ${aStep(type)}`);
    else if (name === "next" || name === "children") {
      error([name], `a Stop ends the run, so it has no ${name}`);
    } else warning([name], `${name} has no effect on a Stop`);
  }
  if (given.in !== undefined && given.input !== undefined && hasField(type, "in")) {
    warning(["input"], "input has no effect beside in");
  }
};
