// Film for the README: an agent's turn beside the user's own edit, its plan, its rewind, its undo.
import path from 'node:path';
import { film, type Picture } from './rig/film.ts';
import { expect, test } from './rig/test.ts';

const BEFORE = `import time

from store import users


def login(name, password):
    user = users.find(name)
    if user is None:
        return None
    if user.password != password:
        return None
    return user


def logout(user):
    user.seen = time.time()
`;

test.use({
  vscode: {
    settings: { 'git.enabled': false, 'editor.fontSize': 13, 'window.menuBarVisibility': 'hidden', 'breadcrumbs.enabled': false },
  },
});

test('the film', async ({ world, agent, code }) => {
  world.run('setup', 'claude-code');
  world.commit({ 'auth.py': BEFORE, 'store.py': 'users = {}\n' });
  const window = await code.open('auth.py');
  const { editor, notifications, activity } = window;
  await activity.open('Backstitch');
  const pictures: Picture[] = [];
  const picture = async (shown: number) => pictures.push({ png: await window.page.screenshot({ type: 'png' }), shown });
  agent.start();
  agent.turn('log every sign-in', () => agent.edit('auth.py', '    return user\n', '    print(f"{name} signed in")\n    return user\n'));
  await expect(editor.lens('turn 1')).toBeVisible();
  await picture(2000);
  agent.turn('hash the passwords', () => {
    agent.edit('auth.py', 'import time\n', 'import hashlib\nimport time\n');
    agent.edit('auth.py', 'if user.password != password:', 'if user.digest != hashlib.sha256(password.encode()).hexdigest():');
    agent.edit('store.py', 'users = {}', 'users = {}  # digests, not passwords');
  });
  await expect(editor.lens('turn 2').first()).toBeVisible();
  await expect(window.tree('Timeline').row('hash the passwords')).toBeVisible();
  await picture(2500);
  await editor.goto(18);
  await window.page.keyboard.press('End');
  await window.page.keyboard.type('  # mine: when was it last?');
  await editor.save();
  await expect(window.tree('Timeline').row('Your edits')).toBeVisible();
  await picture(2000);
  await editor.lens('turn 2').last().click();
  await window.plan.ready(/^Rewind to before /);
  await picture(3000);
  await window.plan.run('Rewind');
  await expect(notifications.toast('Rewound')).toBeVisible();
  await expect(editor.root.locator('.view-lines').first()).not.toContainText('hashlib');
  await picture(3500);
  await notifications.action('Rewound', 'Undo').click();
  await expect(notifications.toast('Undone')).toBeVisible();
  await expect(editor.root.locator('.view-lines').first()).toContainText('hashlib');
  await picture(2500);
  film(path.join(import.meta.dirname, '../../server/docs/editors/vscode-rewind.png'), pictures);
});
