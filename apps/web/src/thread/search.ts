/** The views of a thread. */
export const views = ["steps", "graph", "timeline", "about"] as const;

export type View = (typeof views)[number];

/** What the address of a Thread page holds. */
export type ThreadSearch = {
  view?: View;
  /** The step to show, counting from 1. */
  step?: number;
};

/** Reads an address; what it can't be is left out. */
export function readThreadSearch({ view, step }: Record<string, unknown>): ThreadSearch {
  const number = Number(step);
  return {
    view: views.find((one) => one === view && one !== "steps"),
    step: Number.isInteger(number) && number > 0 ? number : undefined,
  };
}
