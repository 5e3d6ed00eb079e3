--- Held calls of agents: messages about them, and the functions of the commands. Nothing opens by itself unless the option
--- `pauses.open` says so, nothing takes the cursor, and a write decides nothing.
local config = require('backstitch.config')
local files = require('backstitch.held_files')
local decisions = require('backstitch.pauses.decisions')
local held = require('backstitch.pauses.held')
local server = require('backstitch.server')
local task = require('backstitch.task')
local view = require('backstitch.pauses.view')
local words = require('backstitch.words')

local M = {}

M.keys = require('backstitch.pauses.keys')
M.count = held.count
M.open = view.open
M.resume = decisions.resume
M.step = decisions.step
M.skip = decisions.skip
M.refuse = decisions.refuse
M.back = decisions.back
M.inject = decisions.inject
M.repl = decisions.repl
M.eval = decisions.eval
M.stack = decisions.stack

---@param text string
local function say(text)
  require('backstitch.notice').say('backstitch: ' .. text)
end

---@param pattern string
---@param data table
local function announce(pattern, data)
  vim.api.nvim_exec_autocmds('User', { pattern = pattern, modeline = false, data = data })
end

--- Time after which a call that is still held is reported again, once the user is idle, in milliseconds.
local REMIND = 30000
---@type table<integer, integer> Time of the last message, by client.
local reminded = {}

--- Tells of a call that is held, once the user has stopped typing.
---@param client vim.lsp.Client
---@param pause backstitch.Pause
local function tell(client, pause)
  local notice = require('backstitch.notice')
  notice.after_typing(function()
    local is_held = vim.iter(held.by_client[client.id] or { pause }):any(function(one)
      return one.id == pause.id and one.state == 'held'
    end)
    if not is_held then
      return
    end
    reminded[client.id] = vim.uv.now()
    local text = pause.by == 'program' and 'backstitch: a %s program is paused: %s (:Backstitch repl)'
      or 'backstitch: %s is held: %s (:Backstitch pauses)'
    notice.say(text:format(pause.agent, words.line(pause.summary)), vim.log.levels.WARN)
  end)
end

--- Tells of the first call that is held, if nobody looks at it.
local function remind()
  if view.is_looked_at() then
    return
  end
  for id, pauses in pairs(held.by_client) do
    local client = vim.lsp.get_client_by_id(id)
    local first = vim.iter(pauses):find(function(pause)
      return pause.state == 'held'
    end)
    if client and first and vim.uv.now() - (reminded[id] or 0) >= REMIND then
      tell(client, first)
    end
  end
end

function M.enable()
  server.on('backstitch/didPause', function(params, client)
    local pause = params.pause ---@type backstitch.Pause
    held.by_client[client.id] = vim.list_extend({ pause }, held.by_client[client.id] or {})
    view.schedule_read(client)
    announce('BackstitchPause', params)
    tell(client, pause)
    if config.get().pauses.open then
      require('backstitch.notice').after_typing(function()
        task.run(function()
          M.open(client, true)
        end)
      end)
    end
  end)
  server.on('backstitch/didResume', function(params, client)
    held.by_client[client.id] = vim.tbl_filter(function(pause)
      return pause.id ~= params.pause.id
    end, held.by_client[client.id] or {})
    view.schedule_read(client)
    local own = files.of(params.pause)
    local is_late = params.outcome == 'parked'
    if is_late then
      local text = 'the time of %s ran out: %s was not run, and is held again when %s tries again'
      say(text:format(params.pause.id, words.line(params.pause.summary), words.line(params.pause.agent)))
    end
    if own then
      local by = words.given(params.by)
      local decided = ('%s%s'):format(params.outcome, by and ' ' .. words.decider(by) or '')
      view.finish_files(own, is_late and 'its time ran out' or decided)
      if files.is_changed(own) then
        say(('%s was decided on elsewhere: your unwritten text stays in its buffer'):format(own.pause))
      end
    end
    announce('BackstitchResume', params)
  end)
  server.on('backstitch/pauseChanged', function(params, client)
    view.schedule_read(client)
    local own = files.of(params.pause)
    if not own then
      return
    end
    task.run(function()
      local details = server.request(client, 'backstitch/pause', held.about(params.pause))
      if files.of(params.pause) == own then
        if files.is_changed(own) and own.details.fingerprint ~= details.fingerprint then
          say(('the input of %s was changed elsewhere: your unwritten text stays'):format(own.pause))
        end
        files.refresh(own, details)
        view.draw()
      end
    end, function() end) -- it is decided by now
  end)
  server.on('attached', function(_, client)
    view.schedule_read(client)
  end)
  server.on('gone', function(_, client)
    held.by_client[client.id] = nil
    require('backstitch.held_marks').forget(client)
  end)
  local group = vim.api.nvim_create_augroup('backstitch.pauses', {})
  vim.api.nvim_create_autocmd('CursorHold', { group = group, callback = remind })
  vim.api.nvim_create_autocmd('LspAttach', {
    group = group,
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client and client.name == 'backstitch' then
        view.schedule_read(client)
      end
    end,
  })
end

return M
