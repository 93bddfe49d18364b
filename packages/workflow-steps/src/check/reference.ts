import { BREAK, RETURN } from "../document/constants.ts";
import type { Outline } from "../outline/outline.ts";
import { type Reference, referencesOf } from "../outline/reference.ts";
import { quoted, showPath } from "./fault.ts";
import { itemsOf } from "./form.ts";
import type { DocumentRule, StepRule } from "./subject.ts";

/** Each step that a step names is there. */
export const namesStepsThatExist: StepRule = ({ fields, error }, { outline }) => {
  for (const { to, path } of referencesOf(fields)) {
    if (outline.steps.has(to)) continue;
    const isEnd = to === RETURN || to === BREAK;
    const why = isEnd ? `${to} can only stand in next` : `there is no step ${quoted(to)}`;
    error(path, `${showPath(path)}: ${why}`);
  }
};

/** Children are told apart by their ids. */
export const namesEachChildOnce: StepRule = ({ fields, error }) => {
  const seen = new Set<unknown>();
  for (const [index, child] of itemsOf(fields.children).entries()) {
    if (typeof child === "string" && seen.has(child)) {
      error(["children", index], `children[${index}]: ${quoted(child)} is named twice`);
    }
    seen.add(child);
  }
};

/** A BREAK is in a loop: in what its children lead to. */
export const breaksAreInLoops: DocumentRule = ({ steps, outline }) => {
  const inLoop = new Set<string>();
  for (const { id, type } of steps) {
    if (id === null || type !== "Loop") continue;
    for (const { kind, to } of outline.referencesOf(id)) if (kind === "child") inLoop.add(to);
  }
  for (const id of inLoop) {
    for (const { to } of outline.referencesOf(id)) inLoop.add(to);
  }
  for (const { id, fields, error } of steps) {
    if (fields.next === BREAK && id !== null && !inLoop.has(id)) {
      error(["next"], "next: BREAK ends a loop, and this step is in none");
    }
  }
};

/** A step does not run inside of itself: only a Branch may lead back to where it was reached from. */
export const constructsDoNotContainThemselves: DocumentRule = ({ steps, outline }) => {
  const cycleOf = new Map<string, ReadonlySet<string>>();
  for (const cycle of outline.cycles) {
    const members = new Set(cycle);
    for (const id of cycle) cycleOf.set(id, members);
  }
  for (const { id, error } of steps) {
    if (id === null) continue;
    for (const { to, path } of childrenAmong(cycleOf.get(id), id, outline)) {
      const why = `${quoted(to)} leads back here, so the step would run inside itself`;
      error(path, `${showPath(path)}: ${why}`);
    }
  }
};

/** Whether a step of a cycle runs inside another of it, or inside itself. */
export function containsItself(cycle: readonly string[], outline: Outline): boolean {
  const members = new Set(cycle);
  return cycle.some((id) => childrenAmong(members, id, outline).length > 0);
}

const childrenAmong = (
  members: ReadonlySet<string> | undefined,
  id: string,
  outline: Outline,
): Reference[] =>
  outline.referencesOf(id).filter(({ kind, to }) => kind === "child" && members?.has(to));
