-- From this layout on, a running host writes groups to the files of the folder `journal` beside the database. The table
-- `journal` has those of a backup, and those of an earlier layout until the next start. A host of an earlier layout would not
-- read the files, so it must refuse this one.
UPDATE meta SET value = value WHERE key = 'folded';
