import { show, WorkflowError } from "@uncaged/workflow/host";

/**
 * A parser for an option that takes a whole number within bounds, both included.
 * It throws `BAD_OPTION` (usage), which names the option and the range.
 */
export function wholeNumber(option: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\+?[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new WorkflowError({
      code: "BAD_OPTION",
      kind: "usage",
      message: `${option} can't be ${show(text)}`,
      hint: `give a whole number from ${grouped(least)} to ${grouped(most)}`,
    });
  };
}

const grouped = (number: number): string => number.toLocaleString("en-US");
