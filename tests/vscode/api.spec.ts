// The public API, called by another extension.
import { caller } from './rig/places.ts';
import { expect, test } from './rig/test.ts';

test.use({ beside: [caller] });

// S3-043: another extension learns of the rewind.
test('an agent that is an extension edits, and its edit is rewound', async ({ world, code }) => {
  world.commit({ 'a.txt': 'one\ntwo\n' });
  const window = await code.open('a.txt');
  const { editor, notifications, plan } = window;
  await window.run('Caller: Edit');
  await expect(notifications.toast('version 1, applied true, found true')).toBeVisible();
  await editor.expectText('one\n2\n');
  await expect(editor.lens('turn 1 “make it two”')).toBeVisible();
  await editor.rewindLens().click();
  await plan.run('Rewind');
  await editor.expectText('one\ntwo\n');
  await expect(notifications.toast('heard of a rewind')).toBeVisible();
});
