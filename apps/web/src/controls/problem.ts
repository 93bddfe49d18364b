import { flushSync } from "react-dom";

/**
 * Shows what is wrong in a form, and brings its reader to the first of it: in a long form it would not be
 * seen. `show` makes the problems appear.
 */
export function showProblems(form: HTMLElement | null, show: () => void): void {
  flushSync(show);
  form?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
}
