import { Download, GitCompare, OctagonX, RotateCcw, Trash2, X } from "lucide-react";
import { type ComponentType, useState } from "react";
import { counted } from "../../lib/format.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { later } from "../../ui/later.tsx";
import type { Act } from "./bulk-dialog.tsx";
import type { Selection } from "./selection.ts";

const BulkDialog = later(async () => (await import("./bulk-dialog.tsx")).BulkDialog);

const acts: readonly [act: Act, word: string, icon: ComponentType][] = [
  ["retry", "Retry", RotateCcw],
  ["kill", "Kill", OctagonX],
  ["delete", "Delete", Trash2],
  ["export", "Export", Download],
];

type Props = { isOpen: boolean; selection: Selection; onDone: (text: string) => void };

/** The actions on the selected threads, at the lower edge of the window. */
export function SelectionBar({ isOpen: isShown, selection, onDone }: Props) {
  const [act, setAct] = useState<Act>("export");
  const [isOpen, setOpen] = useState(false);
  const { rows } = selection;
  const [first, second] = rows;
  return (
    <>
      {isShown && (
        <div
          role="toolbar"
          aria-label="Selected threads"
          className="panel sticky bottom-4 z-20 mx-auto flex max-w-full flex-wrap items-center justify-center gap-1 p-2 shadow-lg"
        >
          <span className="px-2 font-semibold whitespace-nowrap">
            {counted(rows.length, "thread")}
          </span>
          {acts.map(([one, word, Icon]) => (
            <Button
              key={one}
              look="quiet"
              icon={<Icon />}
              onClick={() => {
                setAct(one);
                setOpen(true);
              }}
            >
              {word}
            </Button>
          ))}
          {first && second && rows.length === 2 && (
            <ButtonLink
              look="quiet"
              icon={<GitCompare />}
              to="/threads/$id/compare/$other"
              // The older thread comes first.
              params={{ id: second.threadId, other: first.threadId }}
            >
              Compare
            </ButtonLink>
          )}
          <Button
            look="quiet"
            icon={<X />}
            aria-label="Select none"
            title="Select none (Esc)"
            onClick={selection.clear}
          />
        </div>
      )}
      <BulkDialog
        act={act}
        rows={rows}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onDone={(text) => {
          selection.clear();
          onDone(text);
        }}
      />
    </>
  );
}
