import { useStored } from "../../lib/stored.ts";
import type { ThreadFilter } from "../../lib/thread-filter.ts";
import { TextDialog } from "../../ui/text-dialog.tsx";
import { builtIn, chipsOf, keepViews, viewsIn, viewsKey } from "./filter.ts";

type Props = { filter: ThreadFilter; isOpen: boolean; onClose: () => void };

export function SaveView({ filter, isOpen, onClose }: Props) {
  const saved = viewsIn(useStored(viewsKey));
  const problemOf = (name: string) => {
    if (name === "") return "This must be filled in.";
    const isTaken = [...builtIn, ...saved].some((view) => view.name === name);
    return isTaken ? "A view has this name." : null;
  };
  return (
    <TextDialog
      title="Save view"
      label="Name"
      hint={chipsOf(filter)
        .map(({ name, text }) => `${name} ${text}`)
        .join(", ")}
      action="Save"
      problemOf={problemOf}
      isOpen={isOpen}
      onClose={onClose}
      perform={(name) => {
        if (!keepViews([...saved, { name, filter }]))
          throw new Error("this browser can't store the view: it lasts until you leave the page");
      }}
    />
  );
}
